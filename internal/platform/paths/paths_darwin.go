package paths

import (
	"errors"
	"fmt"
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

const stateName = ""

// stateBase is not known here: state is where sockets are.
func stateBase(func(string) string) (string, error) { return "", nil }

// SessionFolder is where a vendor's agent keeps what ends with the user's log-in session. Here no folder does.
func SessionFolder(func(string) string, string) (string, error) {
	return "", fmt.Errorf("folder of the session: %w", errors.ErrUnsupported)
}

// Downloads is the user's folder of downloads, where a page may be put that a browser is to show.
func Downloads(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of downloads: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Downloads"), nil
}
