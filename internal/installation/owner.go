package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IsOther reports whether a program that is registered is another one than own: neither that file, nor one that is not there any more and
// has its name, as after a move. Somebody else's may be called the same.
func IsOther(program, own string) bool {
	registered, err := os.Stat(program)
	if errors.Is(err, fs.ErrNotExist) && strings.EqualFold(filepath.Base(program), filepath.Base(own)) {
		return false
	}
	file, _ := os.Stat(own)
	return err != nil || file == nil || !os.SameFile(registered, file)
}

// Taken says that what has our name starts another program, by that command line, and is left as it is.
func Taken(where, line string) error {
	return fmt.Errorf("%s starts another program already, %s: remove that first, by its own 'service uninstall' if it is a copy of this one, "+
		"or rename this program", where, line)
}
