//go:build linux || darwin

package tray

import "syscall"

// detached is a process in a session of its own.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
