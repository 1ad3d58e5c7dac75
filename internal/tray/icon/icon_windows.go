package icon

import "embed"

//go:embed files/*.ico
var files embed.FS

func name(s State, shade Shade) string { return string(s) + "-" + string(shade) + ".ico" }
