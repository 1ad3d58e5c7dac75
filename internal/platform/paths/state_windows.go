package paths

import "path/filepath"

const stateName = "Sidetone"

// stateBase is the user's local application data, as the environment has it: only this user, the system and administrators may write
// there.
func stateBase(getenv func(string) string) (string, error) {
	if data := getenv("LOCALAPPDATA"); filepath.IsAbs(data) {
		return data, nil
	}
	return "", nil
}
