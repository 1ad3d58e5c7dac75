//go:build !windows

package service

// ServeSupervisor does nothing: other systems use signals, and systemd hears from a Notifier.
func ServeSupervisor(getenv func(string) string, stop, answers func()) error { return nil }
