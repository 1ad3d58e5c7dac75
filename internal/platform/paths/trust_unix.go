//go:build linux || darwin

package paths

// RefuseSystemSettings is nil: only root makes files where the administrator's settings are.
func RefuseSystemSettings(string) error { return nil }
