package paths

import (
	"errors"
	"path/filepath"
)

// AgentsFolder returns the folder in which all vendors' agents of this user have their sockets and locks, in the user's Library.
func AgentsFolder(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of the control sockets: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Library", "Application Support", "Sidetone"), nil
}

const stateName = ""

// stateBase returns "": state is kept beside the sockets.
func stateBase(func(string) string) (string, error) { return "", nil }

// Downloads returns the user's download folder, where browsers may read a page.
func Downloads(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of downloads: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Downloads"), nil
}
