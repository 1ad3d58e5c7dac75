package installation

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// StopService has the service of that name begin to stop, where its program is that of the folder and runs. Windows Installer waits for
// its end before it removes it.
func StopService(name, folder, program string) error {
	all, err := Running(folder, []string{program})
	for _, p := range all {
		p.Close()
	}
	if err != nil || len(all) == 0 {
		return err
	}
	if err := stopService(name); err != nil && !errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) &&
		!errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) && !errors.Is(err, windows.ERROR_SERVICE_CANNOT_ACCEPT_CTRL) {
		return fmt.Errorf("stop the service %s: %w", name, err)
	}
	return nil
}

func stopService(name string) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return err
	}
	defer windows.CloseServiceHandle(manager)
	service, err := windows.OpenService(manager, name16, windows.SERVICE_STOP)
	if err != nil {
		return err
	}
	defer windows.CloseServiceHandle(service)
	return windows.ControlService(service, windows.SERVICE_CONTROL_STOP, new(windows.SERVICE_STATUS))
}
