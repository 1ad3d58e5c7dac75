//go:build !windows

package system

// LoadDLLsOfSystemOnly is for Windows.
func LoadDLLsOfSystemOnly() {}
