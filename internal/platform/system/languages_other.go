//go:build !windows

package system

// Languages are none: the environment says which the user prefers.
func Languages() []string { return nil }
