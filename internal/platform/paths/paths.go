// Package paths knows where files and sockets of agents belong.
package paths

import "path/filepath"

// StateFolder returns the folder for an agent's persistent state and log: named after the program of its brand, or, without a brand, the
// vendor's folder among those of all such agents.
func StateFolder(getenv func(string) string, program, vendor string) (string, error) {
	base, err := stateBase(getenv)
	switch {
	case err != nil:
		return "", err
	case base == "":
		base, err = AgentsFolder(getenv)
		return filepath.Join(base, vendor), err
	case program == "sidetone":
		return filepath.Join(base, stateName, vendor), nil
	default:
		return filepath.Join(base, program), nil
	}
}

// LogName is the name of the log file in the state folder. Older ones have a time before the dot.
const LogName = "agent.log"

// LogFile returns the path of an agent's log, unless that goes elsewhere.
func LogFile(getenv func(string) string, program, vendor string) (string, error) {
	folder, err := StateFolder(getenv, program, vendor)
	return filepath.Join(folder, LogName), err
}
