package testlab

import "os/exec"

// Missing is SoundAvailable with another search path.
func Missing(kind SoundKind, lookPath func(string) (string, error)) error {
	return missing(kind, lookPath)
}

// LookPath is the search path of SoundAvailable.
var LookPath = exec.LookPath
