package paths

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/session"
	"sidetone/internal/strictyaml"
)

// AgentsFolder returns the folder in which all vendors' agents of this user have their sockets and locks: sidetone in $XDG_RUNTIME_DIR.
//
// If that is not set, as under cron or su, it is in /run/user/UID, which is the usual value, so that both find each other; and without
// that folder it is /tmp/sidetone-UID. The user's cache would be wrong: home folders may be shared with other machines, on which neither
// sockets nor locks work.
func AgentsFolder(getenv func(string) string) (string, error) {
	if runtime := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
		return filepath.Join(runtime, "sidetone"), nil
	}
	return agentsFolder("/run/user", "/tmp"), nil
}

func agentsFolder(run, temp string) string {
	own := filepath.Join(run, session.User())
	if info, err := os.Lstat(own); err == nil && info.IsDir() && files.OwnerOf(info) == os.Geteuid() {
		return filepath.Join(own, "sidetone")
	}
	return filepath.Join(temp, "sidetone-"+session.User())
}

const stateName = "sidetone"

// stateBase follows the XDG base directory specification.
func stateBase(getenv func(string) string) (string, error) {
	if state := getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return state, nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state"), nil
	}
	return "", errors.New("state folder: neither XDG_STATE_HOME nor HOME is set to an absolute path")
}

// Downloads returns the user's download folder, where browsers may read a page.
//
// A browser from a Snap or Flatpak has its own temporary folder and sees no hidden folders, so it would find nothing in /tmp, ~/.cache or
// $XDG_RUNTIME_DIR, but it may read the download folder. The desktop configures where that is (xdg-user-dirs); the default is
// ~/Downloads. If it does not exist, Downloads returns the home folder, where a Snap may read what is not hidden.
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
