package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IsOther reports whether a registered program is another one than own: neither the same file, nor a missing one of the same name, as
// after a move. Another vendor's program may have the same name.
func IsOther(program, own string) bool {
	registered, err := os.Stat(program)
	if errors.Is(err, fs.ErrNotExist) && strings.EqualFold(filepath.Base(program), filepath.Base(own)) {
		return false
	}
	file, _ := os.Stat(own)
	return err != nil || file == nil || !os.SameFile(registered, file)
}

// Taken returns the error that a registration with our name starts another program by that command line, and is left as it is.
func Taken(where, line string) error {
	return fmt.Errorf("%s starts another program already, %s: remove that first, by its own 'service uninstall' if it is a copy of this one, "+
		"or rename this program", where, line)
}
