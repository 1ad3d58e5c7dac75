//go:build linux || darwin

package session

import (
	"os"
	"strconv"
)

// User is the user under which this process runs, in the form of Process.UID.
func User() string { return strconv.Itoa(os.Geteuid()) }
