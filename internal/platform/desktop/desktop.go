// Package desktop does what a program of the user's session asks of the desktop: to show a file, to copy a text, to be started at
// each log-in. Where it is at home it knows from the environment that it is given.
package desktop

import (
	"path/filepath"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/paths"
)

// Scheme is what colours a user prefers, as the portal of the desktop counts.
type Scheme uint32

// The schemes. What another number means is not known.
const (
	NoPreference Scheme = iota
	PreferDark
	PreferLight
)

// Desktop is that of one user.
type Desktop struct {
	Getenv func(string) string
}

// Save writes a file of this user into the folder of downloads, where every browser may read it, and returns its path.
func (d Desktop) Save(name string, data []byte) (string, error) {
	folder, err := paths.Downloads(d.Getenv)
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, name)
	return path, files.Replace(path, data, 0o600)
}
