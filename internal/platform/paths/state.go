package paths

import "path/filepath"

// StateFolder is where a vendor's agent keeps what outlives it, and its log.
func StateFolder(getenv func(string) string, vendor string) (string, error) {
	folder, err := stateFolder(getenv)
	return filepath.Join(folder, vendor), err
}

// LogName is the name of the log's file in the state folder. Older ones have a time before the dot.
const LogName = "agent.log"

// LogFile is where a vendor's agent keeps its log, unless that goes elsewhere.
func LogFile(getenv func(string) string, vendor string) (string, error) {
	folder, err := StateFolder(getenv, vendor)
	return filepath.Join(folder, LogName), err
}
