//go:build !windows

package wine

// Is is false.
func Is() bool { return false }
