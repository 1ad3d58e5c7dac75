package paths

import "path/filepath"

// stateFolder is in the user's local application data, as the environment has it: only this user, the system and administrators may write
// there.
func stateFolder(getenv func(string) string) (string, error) {
	if data := getenv("LOCALAPPDATA"); filepath.IsAbs(data) {
		return filepath.Join(data, "Sidetone"), nil
	}
	return AgentsFolder(getenv)
}
