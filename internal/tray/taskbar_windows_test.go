package tray

import (
	"runtime"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// shownIcon is what a taskbar is to show of an icon, as Wine's part of the shell passes it on to the one that draws.
type shownIcon struct {
	Window, ID, Flags, Message uint32
	Width, Height              uint32
	_, _                       uint32
	Tip                        [128]uint16
	_, _                       uint32
	Info                       [256]uint16
	Version                    uint32
	Title                      [64]uint16
	InfoFlags                  uint32
	_                          windows.GUID
}

// notified is one call for the icon.
type notified struct {
	what uintptr
	icon shownIcon
}

// standInTaskbar is a window that Wine's shell takes for the taskbar, as it is the last one of that class that was made.
type standInTaskbar struct {
	t      *testing.T
	window uintptr
	calls  chan notified

	mu      sync.Mutex
	refused int    // of the next calls
	adding  func() // happens while an icon is added; nil: nothing
}

// taskbars are those that there are, by their windows. What Windows calls is never given back.
var taskbars sync.Map

var (
	createWindowEx  = user32.NewProc("CreateWindowExW")
	defWindowProc   = user32.NewProc("DefWindowProcW")
	getMessage      = user32.NewProc("GetMessageW")
	dispatchMessage = user32.NewProc("DispatchMessageW")
	postQuitMessage = user32.NewProc("PostQuitMessage")
)

const (
	wmDestroy  = 0x0002
	wmCopyData = 0x004a
)

var taskbarClass = sync.OnceValues(func() (*uint16, error) {
	class := struct {
		size, style uint32
		proc        uintptr
		_, _        int32
		_, _, _, _  uintptr
		_, name     *uint16
		_           uintptr
	}{name: taskbarName, proc: syscall.NewCallback(func(window, id, param, data uintptr) uintptr {
		if bar, is := taskbars.Load(window); is && id == wmCopyData {
			return bar.(*standInTaskbar).take(data)
		}
		if id == wmDestroy {
			_, _, _ = postQuitMessage.Call(0)
		}
		answer, _, _ := defWindowProc.Call(window, id, param, data)
		return answer
	})}
	class.size = uint32(unsafe.Sizeof(class))
	if ok, _, err := user32.NewProc("RegisterClassExW").Call(uintptr(unsafe.Pointer(&class))); ok == 0 {
		return nil, err
	}
	return taskbarName, nil
})

// startTaskbar has a taskbar run until the test ends, or stop is called.
func startTaskbar(t *testing.T) (bar *standInTaskbar, stop func()) {
	t.Helper()
	class, err := taskbarClass()
	require.NoError(t, err)
	bar = &standInTaskbar{t: t, calls: make(chan notified, 1000)}
	started, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		bar.window, _, err = createWindowEx.Call(0, uintptr(unsafe.Pointer(class)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		taskbars.Store(bar.window, bar)
		close(started)
		var message [8]uint64
		for {
			if more, _, _ := getMessage.Call(uintptr(unsafe.Pointer(&message)), 0, 0, 0); int32(more) <= 0 {
				return
			}
			_, _, _ = dispatchMessage.Call(uintptr(unsafe.Pointer(&message)))
		}
	}()
	<-started
	require.NotZero(t, bar.window, err)
	stop = sync.OnceFunc(func() {
		_, _, _ = sendMessage.Call(bar.window, wmClose, 0, 0)
		<-ended
		taskbars.Delete(bar.window)
	})
	t.Cleanup(stop)
	return bar, stop
}

// take is what Windows has sent by WM_COPYDATA.
func (b *standInTaskbar) take(data uintptr) uintptr {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := *(**struct {
		what uintptr
		size uint32
		icon *shownIcon
	})(unsafe.Pointer(&data))
	if b.refused > 0 {
		b.refused--
		return 0
	}
	if b.adding != nil && sent.what == nimAdd {
		b.adding()
	}
	b.calls <- notified{sent.what, *sent.icon}
	return 1
}

// refuse has the next n calls fail.
func (b *standInTaskbar) refuse(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused = n
}

// next is what the tray has the taskbar do next.
func (b *standInTaskbar) next(what uintptr) shownIcon {
	b.t.Helper()
	call := <-b.calls
	require.Equal(b.t, what, call.what, "flags %x", call.icon.Flags)
	return call.icon
}

// shown waits for the icon, which the library puts there without a picture, and returns what it then gets.
func (b *standInTaskbar) shown() shownIcon {
	b.t.Helper()
	for {
		call := <-b.calls
		if call.what == nimModify {
			return call.icon
		}
		require.EqualValues(b.t, nimAdd, call.what)
	}
}

// tip is the tooltip.
func (i shownIcon) tip() string { return windows.UTF16ToString(i.Tip[:]) }
