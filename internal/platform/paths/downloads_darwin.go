package paths

import (
	"errors"
	"path/filepath"
)

// Downloads is the user's folder of downloads, where a page may be put that a browser is to show.
func Downloads(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of downloads: HOME is not set to an absolute path")
	}
	return filepath.Join(home, "Downloads"), nil
}
