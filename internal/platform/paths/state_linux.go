package paths

import (
	"errors"
	"fmt"
	"path/filepath"
)

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
