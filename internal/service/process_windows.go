package service

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/windows"
)

const (
	endCommand  = "taskkill /pid"
	killCommand = "taskkill /f /pid"
)

// process is a process by its handle.
type process windows.Handle

// openProcess opens a process. fs.ErrNotExist means that it has ended.
func openProcess(pid int) (process, error) {
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		err = fs.ErrNotExist
	}
	return process(handle), err
}

func (p process) close() { _ = windows.CloseHandle(windows.Handle(p)) }

// wait reports whether the process has ended, for which it waits up to limit.
func (p process) wait(limit time.Duration) (ended bool, err error) {
	event, err := windows.WaitForSingleObject(windows.Handle(p), uint32(max(0, limit).Milliseconds()))
	return event == windows.WAIT_OBJECT_0, err
}
