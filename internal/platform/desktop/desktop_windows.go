package desktop

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/installation"
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

// Autostarts reports whether the program is started at each log-in of this user.
func (Desktop) Autostarts(e Entry) bool {
	return RunOfUser.Starts(e.ID, e.program()) || RunOfAll.Starts(e.ID, e.program())
}

// program is the one that is started; "": there is none.
func (e Entry) program() string {
	if len(e.Command) == 0 {
		return ""
	}
	return e.Command[0]
}

// SetAutostart has the program started at each log-in of this user, or not any more. What is started for all only the settings of Windows
// switch off for one.
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

// TaskbarScheme is what colours the user prefers for the taskbar. Windows that do not ask have a dark one.
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
