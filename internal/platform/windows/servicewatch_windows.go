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

// serviceCalled is what Windows calls on the thread that waits. It need not do anything: the wait is over.
var serviceCalled = sync.OnceValue(func() uintptr { return syscall.NewCallback(func(uintptr) uintptr { return 0 }) })

// watchRetry is when a service is looked for again that cannot be watched, as while it is installed anew.
const watchRetry = 30 * time.Second

// A serviceWatch is a thread that waits for a service to start and to stop.
type serviceWatch struct {
	name    *uint16
	open    func() (windows.Handle, error)
	changed func()
	retry   time.Duration
	end     windows.Handle // an event
	process uint32         // of the service when it was last looked at; 0: it did not run
}

// WatchService has changed called when a service has stopped or started, until stop is called. It costs a thread that sleeps.
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

// run returns when it is to end.
func (w *serviceWatch) run() {
	// Windows says what it has to say to this thread, and may have it at hand still when nobody waits any more: so the thread ends
	// with the goroutine.
	runtime.LockOSThread()
	notice := &windows.SERVICE_NOTIFY{Version: windows.SERVICE_NOTIFY_STATUS_CHANGE, NotifyCallback: serviceCalled()}
	var pins runtime.Pinner
	pins.Pin(notice)
	defer pins.Unpin()
	for w.next(notice) {
	}
}

// next waits until the service may have stopped or started, and tells of it; false: the watch is to end.
func (w *serviceWatch) next(notice *windows.SERVICE_NOTIFY) bool {
	wanted := uint32(windows.SERVICE_NOTIFY_STOPPED)
	if w.process == 0 {
		wanted = windows.SERVICE_NOTIFY_RUNNING
	}
	service, process, err := w.ask(wanted, notice)
	if err != nil {
		if w.process != 0 { // when it can be watched again it may be another, or have stopped
			w.process = 0
			w.changed()
		}
		return w.wait(w.retry) != ended
	}
	defer windows.CloseServiceHandle(service) // which ends what was asked for
	if process != w.process {
		w.process = process
		w.changed()
		return true
	}
	said := w.wait(windows.INFINITE * time.Millisecond)
	if said == called && notice.NotificationTriggered&wanted != 0 { // else it is of what was asked for before, or that it is being deleted
		// It may be as it was by now: several services share a process, which does not tell that one of them was started anew.
		w.process, _ = running(service)
		w.changed()
	}
	return said != ended
}

// What a wait has come to.
const (
	ended  = 0    // the watch is to end: WAIT_OBJECT_0
	called = 0xC0 // Windows has called: WAIT_IO_COMPLETION
)

// wait waits until Windows calls or the watch is to end, or for as long as that takes.
func (w *serviceWatch) wait(most time.Duration) uint32 {
	r, _, _ := waitAlertably.Call(uintptr(w.end), uintptr(most.Milliseconds()), 1)
	return uint32(r)
}

// ask has Windows tell what is wanted of the service, and returns its process as it is after that. One that is to be deleted is
// let go of, since it stays as long as somebody has it open.
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

// openService opens the service by a connection of its own to their manager, which forgets one that has fallen behind.
func (w *serviceWatch) openService() (windows.Handle, error) {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return 0, err
	}
	defer windows.CloseServiceHandle(manager)
	return windows.OpenService(manager, w.name, windows.SERVICE_QUERY_STATUS)
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
