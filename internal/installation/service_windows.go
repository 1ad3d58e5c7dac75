package installation

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"
)

// StopService tells the service of that name to stop if its process is that program of the folder. Windows Installer waits for its end
// before it removes it.
func StopService(name, folder, program string) error {
	all, err := Running(folder, []string{program})
	for _, p := range all {
		defer p.Close() // until then the process id cannot be reused
	}
	if err != nil || len(all) == 0 {
		return err
	}
	isOurs := func(pid uint32) bool {
		return slices.ContainsFunc(all, func(p Process) bool { return p.(*process).pid == pid })
	}
	if err := stopService(name, isOurs); err != nil && !errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) &&
		!errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) && !errors.Is(err, windows.ERROR_SERVICE_CANNOT_ACCEPT_CTRL) {
		return fmt.Errorf("stop the service %s: %w", name, err)
	}
	return nil
}

func stopService(name string, isOurs func(pid uint32) bool) error {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return err
	}
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return err
	}
	defer windows.CloseServiceHandle(manager)
	service, err := windows.OpenService(manager, name16, windows.SERVICE_STOP|windows.SERVICE_QUERY_STATUS)
	if err != nil {
		return err
	}
	defer windows.CloseServiceHandle(service)
	var status windows.SERVICE_STATUS_PROCESS
	const size = uint32(unsafe.Sizeof(status))
	err = windows.QueryServiceStatusEx(service, windows.SC_STATUS_PROCESS_INFO, (*byte)(unsafe.Pointer(&status)), size, new(uint32))
	if err != nil || !isOurs(status.ProcessId) {
		return err
	}
	return windows.ControlService(service, windows.SERVICE_CONTROL_STOP, new(windows.SERVICE_STATUS))
}
