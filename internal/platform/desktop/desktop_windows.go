package desktop

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"
)

// Open shows a file in the program that the user has chosen for its kind, a folder in the Explorer. That it fails later nobody tells.
func (Desktop) Open(path string, _ func(error)) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // which ends with this goroutine, and with it what the shell's extensions have made of it
		const oldDDE = windows.COINIT_DISABLE_OLE1DDE
		if windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED|oldDDE) == nil {
			defer windows.CoUninitialize()
		}
		done <- windows.ShellExecute(0, nil, name, nil, nil, windows.SW_SHOWNORMAL)
	}()
	if err := <-done; err != nil {
		return fmt.Errorf("show %s: %w: open it yourself", path, err)
	}
	return nil
}

// LacksTray is for desktops that may have none.
func (Desktop) LacksTray(context.Context) bool { return false }

// Autostarts reports whether the program is started at each log-in.
func (Desktop) Autostarts(Entry) bool { return false }

// SetAutostart has the program started at each log-in, or not any more.
func (Desktop) SetAutostart(Entry, bool) error { return errors.ErrUnsupported }
