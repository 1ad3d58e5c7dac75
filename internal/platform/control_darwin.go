package platform

import (
	"errors"
	"path/filepath"
)

// maxSocketPath is how many bytes the kernel takes, less the one that ends them.
const maxSocketPath = 103

// AgentsFolder is where all vendors' agents of this user have their sockets and locks, in the user's
// Library.
func AgentsFolder(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of the control sockets: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Library", "Application Support", "Sidetone"), nil
}
