package tray

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached is a process that does not end with the tray's console. It has one of its own that nobody sees, for console programs that it
// starts: those that inherit none open one each.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}
