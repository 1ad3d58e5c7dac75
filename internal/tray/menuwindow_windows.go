package tray

import (
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	setWindowLongPtr = user32.NewProc("SetWindowLongPtrW")
	callWindowProc   = user32.NewProc("CallWindowProcW")
	redrawWindow     = user32.NewProc("RedrawWindow")

	changeWindowMessageFilterEx = user32.NewProc("ChangeWindowMessageFilterEx")
)

// allowMessage lets a window receive a message from programs with fewer rights.
func allowMessage(window windows.HWND, id uint32) error {
	const allow = 1 // MSGFLT_ALLOW
	if ok, _, err := changeWindowMessageFilterEx.Call(uintptr(window), uintptr(id), allow, 0); ok == 0 {
		return err
	}
	return nil
}

// menuWindow is the library's window, which shows the menu while it handles a click on the icon.
type menuWindow struct {
	handle   windows.HWND
	original uintptr // the library's own window procedure
	open     bool
	offers   bool // the menu was opened and nothing has been chosen since
	// adding is set while the library waits for the taskbar to take the icon. It holds a mutex meanwhile that it would wait for if it was
	// told of another taskbar, or to close, and the window still gets messages. Only the window's thread uses it.
	adding bool
}

// From winuser.h, and what the library has the taskbar send when the icon is used.
const (
	wmClose       = 0x0010
	wmEndSession  = 0x0016
	wmCancelMode  = 0x001f
	wmCommand     = 0x0111
	wmLButtonUp   = 0x0202
	wmRButtonUp   = 0x0205
	libraryClicks = 0x0401
)

// watched is the tray whose menu it is: the library has one menu in a process.
var watched *taskbar

// watchMenu begins to track when the menu is open.
func (b *taskbar) watchMenu(window windows.HWND) {
	b.mu.Lock()
	defer b.mu.Unlock()
	watched, b.menu.handle = b, window
	windowProc := -4 // GWLP_WNDPROC
	b.menu.original, _, _ = setWindowLongPtr.Call(uintptr(window), uintptr(windowProc), handleMenuMessage())
}

// handleMenuMessage is called by Windows on the window's thread. Callbacks are never freed, so there is one for the process. The library
// would remove the icon at the end of the session even if that is then called off; the window for broadcasts hears of the end, too.
var handleMenuMessage = sync.OnceValue(func() uintptr {
	return syscall.NewCallback(func(window, id, param, data uintptr) uintptr {
		b := watched
		b.mu.Lock()
		original := b.menu.original
		b.mu.Unlock()
		switch {
		case id == libraryClicks && (data == wmLButtonUp || data == wmRButtonUp):
		case id == wmEndSession, id == wmCommand && !b.mayChoose():
			return 0
		case id == wmClose && b.menu.adding:
			_, _, _ = postMessage.Call(window, id, param, data) // again later
			return 0
		case id == uintptr(taskbarCreated()):
			if !b.menu.adding {
				b.menu.adding = true
				_, _, _ = callWindowProc.Call(original, window, id, param, data)
				b.menu.adding = false
			}
			return 0
		default:
			answer, _, _ := callWindowProc.Call(original, window, id, param, data)
			return answer
		}
		if b.opens() {
			_, _, _ = callWindowProc.Call(original, window, id, param, data) // returns when the menu is closed
			b.closed()
		}
		return 0
	})
})

// opens notes that the menu is open, and returns false if it already was.
func (b *taskbar) opens() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	already := b.menu.open
	b.menu.open, b.menu.offers = true, true
	return !already
}

// mayChoose reports whether the user may have seen the row that was chosen: any program of the session may pretend that one was.
func (b *taskbar) mayChoose() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	may := b.menu.offers
	b.menu.offers = false
	return may
}

// closed draws what could not be drawn while the menu was open.
func (b *taskbar) closed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.menu.open = false
	b.drawRows()
}

// close closes the menu.
func (m *menuWindow) close() { _, _, _ = sendMessage.Call(uintptr(m.handle), wmCancelMode, 0, 0) }

// redraw repaints the menus on the screen, which Windows does not do by itself.
func (m *menuWindow) redraw() {
	const invalidate = 0x1
	var process uint32
	thread, _ := windows.GetWindowThreadProcessId(m.handle, &process)
	for window := uintptr(0); ; {
		window, _, _ = findWindowEx.Call(0, window, uintptr(unsafe.Pointer(menuClass)), 0)
		if window == 0 {
			return
		}
		if of, _ := windows.GetWindowThreadProcessId(windows.HWND(window), &process); of == thread {
			_, _, _ = redrawWindow.Call(window, 0, 0, invalidate)
		}
	}
}

// menuClass is the class of menu windows.
var menuClass = utf16Of("#32768")
