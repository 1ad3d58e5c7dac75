//go:build !windows

package icon

import "embed"

//go:embed files/*.png
var files embed.FS

// ending is that of the one picture that goes to the panel, which makes it smaller where it needs to.
const ending = "-44.png"
