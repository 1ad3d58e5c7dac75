package soundlab

import "os/exec"

// Missing is Available with another search path.
func Missing(kind Kind, lookPath func(string) (string, error)) error { return missing(kind, lookPath) }

// LookPath is the search path of Available.
var LookPath = exec.LookPath
