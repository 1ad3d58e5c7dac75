//go:build unix

package keep

import (
	"path/filepath"

	"sidetone/internal/platform/paths"
)

// UntilLogOff returns the place for a text of a vendor's agent that vanishes when the user's last log-in session ends.
// errors.ErrUnsupported means that this user has no such place.
func UntilLogOff(getenv func(string) string, vendor, _, name string) (Text, error) {
	folder, err := paths.SessionFolder(getenv, vendor)
	if err != nil {
		return nil, err
	}
	return File(filepath.Join(folder, name)), nil
}
