package platform

import (
	"errors"
	"path/filepath"
)

// maxSocketPath is how many bytes the kernel takes, less the one that ends them.
const maxSocketPath = 103

// ControlAddress is the path of the control socket, in the user's Library.
func ControlAddress(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("address of the control socket: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Library", "Application Support", "Sidetone", controlSocket), nil
}
