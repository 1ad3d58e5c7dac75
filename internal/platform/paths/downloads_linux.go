package paths

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"sidetone/internal/strictyaml"
)

// Downloads is the user's folder of downloads, where a page may be put that a browser is to show.
//
// A browser from a Snap or a Flatpak has a temporary folder of its own and sees no hidden folder, so that it would find
// nothing in /tmp, ~/.cache or $XDG_RUNTIME_DIR. The folder of downloads is open to both. Where it is said by the desktop
// (xdg-user-dirs); ~/Downloads is the default. If there is none it is the home folder, in which a Snap reads what is not hidden.
func Downloads(getenv func(string) string) (string, error) {
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("folder of downloads: HOME is not set to an absolute path")
	}
	settings := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(settings) {
		settings = filepath.Join(home, ".config")
	}
	named := filepath.Join(home, "Downloads")
	if text, err := strictyaml.ReadFile(filepath.Join(settings, "user-dirs.dirs")); err == nil {
		for line := range strings.Lines(string(text)) {
			value, is := strings.CutPrefix(strings.TrimSpace(line), "XDG_DOWNLOAD_DIR=")
			if is {
				named = strings.Replace(strings.Trim(value, `"`), "$HOME", home, 1)
			}
		}
	}
	if info, err := os.Stat(named); filepath.IsAbs(named) && err == nil && info.IsDir() {
		return named, nil
	}
	return home, nil
}
