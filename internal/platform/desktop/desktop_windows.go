package desktop

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/installation"
)

// Open shows a file in the user's program for its type, or a folder in the Explorer. A later failure is not reported.
func (Desktop) Open(path string, _ func(error)) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine, whatever shell extensions have done to it
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

// LacksTray returns false: Windows always has a tray.
func (Desktop) LacksTray(context.Context) bool { return false }

// Autostarts reports whether the program is started at this user's log-in.
func (Desktop) Autostarts(e Entry) bool {
	return RunOfUser.Starts(e.ID, e.program()) || RunOfAll.Starts(e.ID, e.program())
}

// program returns the entry's program, or "".
func (e Entry) program() string {
	if len(e.Command) == 0 {
		return ""
	}
	return e.Command[0]
}

// SetAutostart enables or disables the start of the program at this user's log-in. A program that is registered for all users can only be
// disabled for one in the settings of Windows.
func (d Desktop) SetAutostart(e Entry, on bool) error {
	if _, foreign, err := RunOfUser.Read(e.ID, e.program()); err != nil {
		return err
	} else if foreign != "" {
		return installation.Taken(RunOfUser.Path(e.ID), foreign)
	}
	if own, _, err := RunOfAll.Read(e.ID, e.program()); err == nil && own != "" && d.Autostarts(e) != on {
		return fmt.Errorf("%s is started at log-in for all users of this machine: switch it on or off in the settings of Windows (Apps, Startup)",
			e.Name)
	}
	if err := RunOfUser.Remove(e.ID); err != nil || !on {
		return err
	}
	return RunOfUser.Set(e.ID, windows.ComposeCommandLine(e.Command))
}

// TaskbarScheme returns the user's colour scheme for the taskbar. Versions of Windows without that setting have a dark one.
func TaskbarScheme() Scheme {
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.QUERY_VALUE)
	if err != nil {
		return NoPreference
	}
	defer key.Close()
	switch light, _, err := key.GetIntegerValue("SystemUsesLightTheme"); {
	case err != nil:
		return NoPreference
	case light != 0:
		return PreferLight
	default:
		return PreferDark
	}
}
