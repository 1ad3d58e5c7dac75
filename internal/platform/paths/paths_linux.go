package paths

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/session"
	"sidetone/internal/strictyaml"
)

// AgentsFolder is where all vendors' agents of this user have their sockets and locks: sidetone in
// $XDG_RUNTIME_DIR.
//
// Where that is not set, as under cron or su, it is in /run/user/UID, which is what it is set
// to where it is set, so that both find each other; and without that it is /tmp/sidetone-UID. The
// user's cache is no place for it: home folders may be shared with other machines, on which
// neither socket nor lock mean anything.
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

// stateBase is as the XDG base directory specification has it.
func stateBase(getenv func(string) string) (string, error) {
	if state := getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return state, nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state"), nil
	}
	return "", errors.New("state folder: neither XDG_STATE_HOME nor HOME is set to an absolute path")
}

// SessionFolder is where a vendor's agent keeps what ends with the user's last log-in session: the system removes
// the user's runtime folder then. ErrUnsupported: this user has none.
func SessionFolder(getenv func(string) string, vendor string) (string, error) {
	folder, err := AgentsFolder(getenv)
	if err == nil && filepath.Base(folder) != "sidetone" {
		err = fmt.Errorf("folder of the session: %w: %s outlives it", errors.ErrUnsupported, folder)
	}
	return filepath.Join(folder, vendor), err
}

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
