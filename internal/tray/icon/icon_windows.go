package icon

import "embed"

//go:embed files/*.ico
var files embed.FS

const ending = ".ico"
