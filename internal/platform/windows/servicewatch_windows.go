package windows

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var waitAlertably = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitForSingleObjectEx")

// serviceCalled is what Windows calls on the thread that waits. It need not do anything: the wait is over.
var serviceCalled = sync.OnceValue(func() uintptr { return syscall.NewCallback(func(uintptr) uintptr { return 0 }) })

// A serviceWatch is a thread that waits for a service to start and to stop.
type serviceWatch struct {
	manager windows.Handle
	name    *uint16
	changed func()
	end     windows.Handle // an event
	process uint32         // of the service when it was last looked at; 0: it did not run
}

// WatchService has changed called when a service has stopped or started, until stop is called. It costs a thread that sleeps.
func WatchService(name string, changed func()) (stop func(), err error) {
	w := &serviceWatch{changed: changed}
	if w.name, err = windows.UTF16PtrFromString(name); err != nil {
		return nil, err
	}
	if w.manager, err = windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT); err != nil {
		return nil, fmt.Errorf("watch the service %s: %w", name, err)
	}
	if w.process, err = w.look(); err == nil {
		w.end, err = windows.CreateEvent(nil, 0, 0, nil)
	}
	if err != nil {
		_ = windows.CloseServiceHandle(w.manager)
		return nil, fmt.Errorf("watch the service %s: %w", name, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run()
	}()
	return func() {
		_ = windows.SetEvent(w.end)
		<-done
		_ = windows.CloseHandle(w.end)
	}, nil
}

// run returns when it is to end, or the service has been deleted.
func (w *serviceWatch) run() {
	runtime.LockOSThread() // Windows says what it has to say to this thread
	defer runtime.UnlockOSThread()
	defer windows.CloseServiceHandle(w.manager)
	notice := &windows.SERVICE_NOTIFY{Version: windows.SERVICE_NOTIFY_STATUS_CHANGE, NotifyCallback: serviceCalled()}
	var pins runtime.Pinner
	pins.Pin(notice)
	defer pins.Unpin()
	for w.wait(notice) {
		process, err := w.look()
		if err != nil {
			return
		}
		if process != w.process {
			w.process = process
			w.changed()
		}
	}
}

// wait returns true when the service may run that did not, or not run that did. A service that has been started again is another process.
func (w *serviceWatch) wait(notice *windows.SERVICE_NOTIFY) bool {
	service, err := windows.OpenService(w.manager, w.name, windows.SERVICE_QUERY_STATUS)
	if err != nil {
		return false
	}
	defer windows.CloseServiceHandle(service) // which ends what was asked for
	wanted := uint32(windows.SERVICE_NOTIFY_STOPPED)
	if w.process == 0 {
		wanted = windows.SERVICE_NOTIFY_RUNNING
	}
	if windows.NotifyServiceStatusChange(service, wanted, notice) != nil {
		return false
	}
	if process, err := running(service); err != nil || process != w.process {
		return err == nil
	}
	const called = 0xC0 // WAIT_IO_COMPLETION
	r, _, _ := waitAlertably.Call(uintptr(w.end), windows.INFINITE, 1)
	return r == called
}

func (w *serviceWatch) look() (process uint32, err error) {
	service, err := windows.OpenService(w.manager, w.name, windows.SERVICE_QUERY_STATUS)
	if err != nil {
		return 0, err
	}
	defer windows.CloseServiceHandle(service)
	return running(service)
}

// running is the process of a service that runs, else 0.
func running(service windows.Handle) (process uint32, err error) {
	var status windows.SERVICE_STATUS_PROCESS
	var size uint32
	err = windows.QueryServiceStatusEx(service, windows.SC_STATUS_PROCESS_INFO,
		(*byte)(unsafe.Pointer(&status)), uint32(unsafe.Sizeof(status)), &size)
	if err != nil || status.CurrentState != windows.SERVICE_RUNNING {
		return 0, err
	}
	return status.ProcessId, nil
}
