package icon

import "embed"

// The system gives a template its colour.
//
//go:embed files/*-template.png
var files embed.FS

func name(s State, _ Shade) string { return string(s) + "-template.png" }
