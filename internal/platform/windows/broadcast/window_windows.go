package broadcast

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	user32           = windows.NewLazySystemDLL("user32.dll")
	registerClassEx  = user32.NewProc("RegisterClassExW")
	createWindowEx   = user32.NewProc("CreateWindowExW")
	destroyWindow    = user32.NewProc("DestroyWindow")
	defWindowProc    = user32.NewProc("DefWindowProcW")
	getMessage       = user32.NewProc("GetMessageW")
	dispatchMessage  = user32.NewProc("DispatchMessageW")
	postMessage      = user32.NewProc("PostMessageW")
	postQuitMessage  = user32.NewProc("PostQuitMessage")
	shownOnNoTaskbar = uintptr(0x08000080) // WS_EX_NOACTIVATE | WS_EX_TOOLWINDOW
)

// Class is the class name of the window. Its title is the process id.
const Class = "SidetoneBroadcasts"

// window is a top-level window that is never shown.
type window struct {
	handle windows.HWND
	ended  chan struct{}
}

// runTask is the message that has the window call one of the tasks. As it is a message, tasks run also while a menu of the window is
// open.
const runTask = 0xbfff // the last one for a program's own use

// tasks are the functions to call on the window's thread, in order.
var tasks struct {
	mu   sync.Mutex
	list []func()
}

// openWindow creates the window, of which there is one at a time. Its thread dispatches the messages.
func openWindow() (*window, error) {
	w := &window{ended: make(chan struct{})}
	ready := make(chan error, 1)
	go func() {
		defer close(w.ended)
		runtime.LockOSThread() // a window belongs to its thread, which ends with this goroutine
		err := w.create()
		ready <- err
		if err == nil {
			w.run()
		}
	}()
	if err := <-ready; err != nil {
		<-w.ended
		return nil, err
	}
	return w, nil
}

func (w *window) create() error {
	class, err := windowClass()
	if err != nil {
		return fmt.Errorf("register a class of windows: %w", err)
	}
	title, err := windows.UTF16PtrFromString(strconv.Itoa(int(windows.GetCurrentProcessId())))
	if err != nil {
		return err
	}
	handle, _, err := createWindowEx.Call(
		shownOnNoTaskbar, uintptr(unsafe.Pointer(class)), uintptr(unsafe.Pointer(title)), 0, 0, 0, 0, 0, 0, 0, 0, 0)
	if handle == 0 {
		return fmt.Errorf("make a window: %w", err)
	}
	w.handle = windows.HWND(handle)
	return nil
}

// run handles messages until the window is closed.
func (w *window) run() {
	var m message
	for {
		more, _, _ := getMessage.Call(uintptr(unsafe.Pointer(&m)), 0, 0, 0)
		if int32(more) <= 0 {
			return
		}
		_, _, _ = dispatchMessage.Call(uintptr(unsafe.Pointer(&m)))
	}
}

func (w *window) close() error {
	err := w.do(func() {
		_, _, _ = destroyWindow.Call(uintptr(w.handle))
		_, _, _ = postQuitMessage.Call(0)
	})
	if err != nil {
		return fmt.Errorf("close the window for broadcasts: %w", err)
	}
	<-w.ended
	tasks.list = nil
	return nil
}

func (w *window) do(task func()) error {
	tasks.mu.Lock()
	defer tasks.mu.Unlock()
	if ok, _, err := postMessage.Call(uintptr(w.handle), runTask, 0, 0); ok == 0 {
		return err
	}
	tasks.list = append(tasks.list, task)
	return nil
}

// callTask calls the first task. There may be none, since any program can post the message.
func callTask() {
	tasks.mu.Lock()
	var task func()
	if len(tasks.list) > 0 {
		task, tasks.list = tasks.list[0], tasks.list[1:]
	}
	tasks.mu.Unlock()
	if task != nil {
		task()
	}
}

// message is MSG.
type message struct {
	window  windows.HWND
	id      uint32
	_, _    uintptr
	_, _, _ int32
	_       uint32
}

// windowClass registers the class once, since callbacks are never freed.
var windowClass = sync.OnceValues(func() (*uint16, error) {
	name, err := windows.UTF16PtrFromString(Class)
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

// handleMessage is the window procedure.
func handleMessage(window uintptr, id uint32, param, data uintptr) uintptr {
	if id == runTask {
		callTask()
		return 0
	}
	if answer, handled := dispatch(Message{id, param, data}); handled {
		return answer
	}
	if id == Close {
		return 0 // the window is closed by its owner only
	}
	answer, _, _ := defWindowProc.Call(window, uintptr(id), param, data)
	return answer
}
