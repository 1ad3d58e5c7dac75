package windows

import (
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	syswindows "golang.org/x/sys/windows"
)

var (
	user32                       = syswindows.NewLazySystemDLL("user32.dll")
	registerClassEx              = user32.NewProc("RegisterClassExW")
	createWindowEx               = user32.NewProc("CreateWindowExW")
	destroyWindow                = user32.NewProc("DestroyWindow")
	defWindowProc                = user32.NewProc("DefWindowProcW")
	getMessage                   = user32.NewProc("GetMessageW")
	dispatchMessage              = user32.NewProc("DispatchMessageW")
	postMessage                  = user32.NewProc("PostMessageW")
	registerDeviceNotification   = user32.NewProc("RegisterDeviceNotificationW")
	unregisterDeviceNotification = user32.NewProc("UnregisterDeviceNotification")
)

// Constants of winuser.h and dbt.h.
const (
	messageOnly         = ^uintptr(2) // HWND_MESSAGE
	wmDeviceChange      = 0x0219
	wmClose             = 0x0010
	deviceArrival       = 0x8000
	deviceRemoved       = 0x8004
	kindDeviceInterface = 5
)

// deviceInterface is DEV_BROADCAST_DEVICEINTERFACE_W up to the name, which ends with a zero.
type deviceInterface struct {
	size, kind, _ uint32
	class         syswindows.GUID
	name          [2]uint16
}

// A Watch hears of devices that come and go.
type Watch struct {
	window uintptr
	done   chan struct{}
}

// watches are by their windows: what Windows calls has no other way to them.
var watches sync.Map

// NewWatch calls told for each interface of a class that arrives or is gone, one after another, until Close. told must return at once.
//
// It hears by a window of its own that nobody sees. CM_Register_Notification would need neither window nor thread; but Wine does not have
// it, and this one way is told of the same on both.
func NewWatch(class syswindows.GUID, told func(path string, arrived bool)) (*Watch, error) {
	w := &Watch{done: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(w.done)
		runtime.LockOSThread() // windows and their messages belong to a thread; it ends with the goroutine
		w.run(class, told, ready)
	}()
	if err := <-ready; err != nil {
		<-w.done
		return nil, fmt.Errorf("be told of devices: %w", err)
	}
	return w, nil
}

// run makes the window, says on ready that it is told, and takes its messages.
func (w *Watch) run(class syswindows.GUID, told func(path string, arrived bool), ready chan<- error) {
	name, err := windowClass()
	if err != nil {
		ready <- err
		return
	}
	w.window, _, err = createWindowEx.Call(0, uintptr(unsafe.Pointer(name)), 0, 0, 0, 0, 0, 0, messageOnly, 0, 0, 0)
	if w.window == 0 {
		ready <- err
		return
	}
	defer destroyWindow.Call(w.window) //nolint:errcheck // the thread ends
	watches.Store(w.window, told)
	defer watches.Delete(w.window)
	filter := deviceInterface{kind: kindDeviceInterface, class: class}
	filter.size = uint32(unsafe.Sizeof(filter))
	registered, _, err := registerDeviceNotification.Call(w.window, uintptr(unsafe.Pointer(&filter)), 0)
	if registered == 0 {
		ready <- err
		return
	}
	defer unregisterDeviceNotification.Call(registered) //nolint:errcheck // as above
	ready <- nil
	var m message
	for {
		more, _, _ := getMessage.Call(uintptr(unsafe.Pointer(&m)), 0, 0, 0)
		if int32(more) <= 0 || m.window == w.window && m.id == wmClose {
			return
		}
		_, _, _ = dispatchMessage.Call(uintptr(unsafe.Pointer(&m)))
	}
}

// Close ends the watching. told is not called any more when it returns.
func (w *Watch) Close() error {
	if ok, _, err := postMessage.Call(w.window, wmClose, 0, 0); ok == 0 {
		return fmt.Errorf("end the watching of devices: %w", err)
	}
	<-w.done
	return nil
}

// message is MSG.
type message struct {
	window  uintptr
	id      uint32
	_, _    uintptr
	_, _, _ int32
	_       uint32
}

// windowClass registers the class of the windows once for the process: what Windows can call is never given back.
var windowClass = sync.OnceValues(func() (*uint16, error) {
	name, err := syswindows.UTF16PtrFromString("SidetoneDevices")
	if err != nil {
		return nil, err
	}
	// WNDCLASSEXW
	class := struct {
		size, style            uint32
		proc                   uintptr
		_, _                   int32
		instance, icon, cursor uintptr
		background             uintptr
		menu, name             *uint16
		small                  uintptr
	}{proc: syscall.NewCallback(handleMessage), name: name}
	class.size = uint32(unsafe.Sizeof(class))
	if atom, _, err := registerClassEx.Call(uintptr(unsafe.Pointer(&class))); atom == 0 {
		return nil, err
	}
	return name, nil
})

// handleMessage is called by Windows, on the window's thread.
func handleMessage(window, id, what, data uintptr) uintptr {
	told, known := watches.Load(window)
	if id != wmDeviceChange || data == 0 || !known || what != deviceArrival && what != deviceRemoved {
		result, _, _ := defWindowProc.Call(window, id, what, data)
		return result
	}
	event := *(**deviceInterface)(unsafe.Pointer(&data))
	if event.kind == kindDeviceInterface {
		told.(func(string, bool))(syswindows.UTF16PtrToString(&event.name[0]), what == deviceArrival)
	}
	return 1
}
