// Package desktop asks the desktop to show a file, copy a text, start a program at log-in, and show notifications. It finds the user's
// folders by the environment that it is given.
package desktop

import (
	"path/filepath"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/paths"
)

// Scheme is the user's preferred colour scheme, as numbered by the desktop portal.
type Scheme uint32

// The schemes. Other numbers are unknown.
const (
	NoPreference Scheme = iota
	PreferDark
	PreferLight
)

// Desktop is one user's desktop.
type Desktop struct {
	Getenv func(string) string
}

// Save writes a private file into the user's download folder, where every browser may read it, and returns its path.
func (d Desktop) Save(name string, data []byte) (string, error) {
	folder, err := paths.Downloads(d.Getenv)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, files.Replace(path, data, 0o600)
}
