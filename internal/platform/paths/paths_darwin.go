package paths

import (
	"errors"
	"path/filepath"
)

// AgentsFolder is where all vendors' agents of this user have their sockets and locks, in the user's
// Library.
func AgentsFolder(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of the control sockets: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Library", "Application Support", "Sidetone"), nil
}
