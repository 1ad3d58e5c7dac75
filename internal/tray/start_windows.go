package tray

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached is a process that does not end with the tray's console.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
