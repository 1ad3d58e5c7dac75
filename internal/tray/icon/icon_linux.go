package icon

import "embed"

// One picture goes to the panel, which makes it smaller where it needs to.
//
//go:embed files/*-44.png
var files embed.FS

func name(s State, shade Shade) string { return string(s) + "-" + string(shade) + "-44.png" }
