package paths

import "path/filepath"

// StateFolder is where a vendor's agent keeps what outlives it, and its log.
func StateFolder(getenv func(string) string, vendor string) (string, error) {
	folder, err := stateFolder(getenv)
	return filepath.Join(folder, vendor), err
}
