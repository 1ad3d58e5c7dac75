package windows

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var waitAlertably = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitForSingleObjectEx")

// serviceCalled is the callback on the waiting thread. It does nothing: being called ends the wait.
var serviceCalled = sync.OnceValue(func() uintptr { return syscall.NewCallback(func(uintptr) uintptr { return 0 }) })

// watchRetry is when a service that cannot be watched is tried again, as while it is being reinstalled.
const watchRetry = 30 * time.Second

// A serviceWatch is a thread that waits for a service to start and stop.
type serviceWatch struct {
	name    *uint16
	open    func() (windows.Handle, error)
	changed func()
	retry   time.Duration
	end     windows.Handle // an event
	process uint32         // the service's process when it was last checked; 0: it did not run
}

// WatchService calls changed when a service has stopped or started, until stop is called. It costs a sleeping thread.
func WatchService(name string, changed func()) (stop func(), err error) {
	w := &serviceWatch{changed: changed, retry: watchRetry}
	w.open = w.openService
	if w.name, err = windows.UTF16PtrFromString(name); err == nil {
		stop, err = w.start()
	}
	if err != nil {
		return nil, fmt.Errorf("watch the service %s: %w", name, err)
	}
	return stop, nil
}

func (w *serviceWatch) start() (stop func(), err error) {
	service, err := w.open()
	if err != nil {
		return nil, err
	}
	defer windows.CloseServiceHandle(service)
	if w.process, err = running(service); err == nil {
		w.end, err = windows.CreateEvent(nil, 0, 0, nil)
	}
	if err != nil {
		return nil, err
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

// run returns when the watch is to end.
func (w *serviceWatch) run() {
	// Callbacks are queued to this thread, and one may be left when nobody waits any more: so the thread ends with the goroutine.
	runtime.LockOSThread()
	notice := &windows.SERVICE_NOTIFY{Version: windows.SERVICE_NOTIFY_STATUS_CHANGE, NotifyCallback: serviceCalled()}
	var pins runtime.Pinner
	pins.Pin(notice)
	defer pins.Unpin()
	for w.next(notice) {
	}
}

// next waits until the service may have stopped or started, and reports it. It returns false when the watch is to end.
func (w *serviceWatch) next(notice *windows.SERVICE_NOTIFY) bool {
	wanted := uint32(windows.SERVICE_NOTIFY_STOPPED)
	if w.process == 0 {
		wanted = windows.SERVICE_NOTIFY_RUNNING
	}
	service, process, err := w.ask(wanted, notice)
	if err != nil {
		if w.process != 0 { // when it can be watched again it may have been restarted, or have stopped
			w.process = 0
			w.changed()
		}
		return w.wait(w.retry) != ended
	}
	defer windows.CloseServiceHandle(service) // cancels the notification
	if process != w.process {
		w.process = process
		w.changed()
		return true
	}
	said := w.wait(windows.INFINITE * time.Millisecond)
	if said == called && notice.NotificationTriggered&wanted != 0 { // otherwise it is from an earlier request, or the service is being deleted
		// The process may be the same: several services share one, which hides that one of them was restarted.
		w.process, _ = running(service)
		w.changed()
	}
	return said != ended
}

// Results of wait.
const (
	ended  = 0    // the watch is to end: WAIT_OBJECT_0
	called = 0xC0 // Windows has called: WAIT_IO_COMPLETION
)

// wait waits for a callback or the end of the watch, but no longer than most.
func (w *serviceWatch) wait(most time.Duration) uint32 {
	r, _, _ := waitAlertably.Call(uintptr(w.end), uintptr(most.Milliseconds()), 1)
	return uint32(r)
}

// ask requests a notification about the service, and returns its current process. It releases a service that is to be deleted, since that
// exists as long as it is open.
func (w *serviceWatch) ask(wanted uint32, notice *windows.SERVICE_NOTIFY) (service windows.Handle, process uint32, err error) {
	if service, err = w.open(); err != nil {
		return 0, 0, err
	}
	if err = windows.NotifyServiceStatusChange(service, wanted|windows.SERVICE_NOTIFY_DELETE_PENDING, notice); err == nil {
		process, err = running(service)
	}
	if err != nil {
		_ = windows.CloseServiceHandle(service)
	}
	return service, process, err
}

// openService opens the service by a new connection to the service manager, which drops a client that has fallen behind.
func (w *serviceWatch) openService() (windows.Handle, error) {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return 0, err
	}
	defer windows.CloseServiceHandle(manager)
	return windows.OpenService(manager, w.name, windows.SERVICE_QUERY_STATUS)
}

// running returns the process of a running service, else 0.
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
