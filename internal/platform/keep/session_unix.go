//go:build unix

package keep

import (
	"path/filepath"

	"sidetone/internal/platform/paths"
)

// UntilLogOff is where a vendor's agent keeps a text that goes when the user's last log-in session ends. ErrUnsupported: this user has no
// such place.
func UntilLogOff(getenv func(string) string, vendor, _, name string) (Text, error) {
	folder, err := paths.SessionFolder(getenv, vendor)
	if err != nil {
		return nil, err
	}
	return File(filepath.Join(folder, name)), nil
}
