package tray

import (
	"sync"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/tray/icon"
)

var (
	user32                   = windows.NewLazySystemDLL("user32.dll")
	findWindowEx             = user32.NewProc("FindWindowExW")
	sendMessage              = user32.NewProc("SendMessageW")
	postMessage              = user32.NewProc("PostMessageW")
	findWindow               = user32.NewProc("FindWindowW")
	registerWindowMessage    = user32.NewProc("RegisterWindowMessageW")
	dpiForWindow             = user32.NewProc("GetDpiForWindow")
	dpiForSystem             = user32.NewProc("GetDpiForSystem")
	systemMetricsForDPI      = user32.NewProc("GetSystemMetricsForDpi")
	createIconFromResourceEx = user32.NewProc("CreateIconFromResourceEx")
	destroyIcon              = user32.NewProc("DestroyIcon")
	shellNotifyIcon          = windows.NewLazySystemDLL("shell32.dll").NewProc("Shell_NotifyIconW")
)

// From shellapi.h: the operations of Shell_NotifyIcon, which fields are valid, and how a notification is shown.
const (
	nimAdd, nimModify, nimDelete = 0, 1, 2

	nifMessage, nifIcon, nifTip, nifState, nifInfo, nifRealtime = 0x1, 0x2, 0x4, 0x8, 0x10, 0x40

	nisHidden = 0x1

	niifUser, niifNoSound, niifRespectQuietTime = 0x4, 0x10, 0x80
)

// taskbarName is the class of the taskbar's window.
var taskbarName = utf16Of("Shell_TrayWnd")

// taskbarWindow returns the taskbar's window, or 0.
func taskbarWindow() uintptr {
	window, _, _ := findWindow.Call(uintptr(unsafe.Pointer(taskbarName)), 0)
	return window
}

// taskbarCreated is the message that a new taskbar sends to all windows.
var taskbarCreated = sync.OnceValue(func() uint32 {
	id, _, _ := registerWindowMessage.Call(uintptr(unsafe.Pointer(utf16Of("TaskbarCreated"))))
	return uint32(id)
})

// notifyIconData is NOTIFYICONDATAW.
type notifyIconData struct {
	size             uint32
	window           windows.HWND
	id               uint32
	flags            uint32
	message          uint32
	icon             windows.Handle
	tip              [128]uint16
	state, stateMask uint32
	info             [256]uint16
	version          uint32
	infoTitle        [64]uint16
	infoFlags        uint32
	_                windows.GUID
	balloonIcon      windows.Handle
}

// libraryIcon is the library's number for its icon, libraryClass the class of its window.
const libraryIcon = 100

var libraryClass = utf16Of("SystrayClass")

// libraryWindow returns the library's window, or 0.
func libraryWindow() windows.HWND {
	for window := uintptr(0); ; {
		window, _, _ = findWindowEx.Call(0, window, uintptr(unsafe.Pointer(libraryClass)), 0)
		var process uint32
		_, err := windows.GetWindowThreadProcessId(windows.HWND(window), &process)
		if window == 0 || err == nil && process == windows.GetCurrentProcessId() {
			return windows.HWND(window)
		}
	}
}

// notifyIcon is the library's icon in the notification area.
type notifyIcon struct {
	title  string // of notifications
	window windows.HWND
	handle windows.Handle
	pixels int // of the handle's picture
}

// call asks the taskbar to do something with the icon, and reports whether it did.
func (n *notifyIcon) call(what uintptr, data notifyIconData) bool {
	return notify(n.window, libraryIcon, what, data)
}

func notify(window windows.HWND, id uint32, what uintptr, data notifyIconData) bool {
	data.size, data.window, data.id = uint32(unsafe.Sizeof(data)), window, id
	ok, _, _ := shellNotifyIcon.Call(what, uintptr(unsafe.Pointer(&data)))
	return ok != 0
}

// probe reports whether the taskbar takes icons.
func probe(window windows.HWND) bool {
	const id = 1
	took := notify(window, id, nimAdd, notifyIconData{flags: nifState, state: nisHidden, stateMask: nisHidden})
	notify(window, id, nimDelete, notifyIconData{}) // even a call that timed out may have added it
	return took
}

// put offers the icon to the taskbar, and reports whether it took it. The library does so when it is told of a taskbar.
func (n *notifyIcon) put(f frame) bool {
	_, _, _ = sendMessage.Call(uintptr(n.window), uintptr(taskbarCreated()), 0, 0)
	data := notifyIconData{flags: nifTip}
	copyUnits(data.tip[:], f.tooltip)
	n.picture(f.icon, &data)
	return n.call(nimModify, data)
}

// draw sends what has changed.
func (n *notifyIcon) draw(last, next frame) {
	var data notifyIconData
	if string(last.icon) != string(next.icon) {
		n.picture(next.icon, &data)
	}
	if last.tooltip != next.tooltip {
		data.flags |= nifTip
		copyUnits(data.tip[:], next.tooltip)
	}
	if data.flags != 0 {
		n.call(nimModify, data)
	}
}

// redraw sends the picture in another size if the taskbar wants one.
func (n *notifyIcon) redraw(f frame) {
	if iconPixels() != n.pixels {
		var data notifyIconData
		n.picture(f.icon, &data)
		n.call(nimModify, data)
	}
}

// notify shows a text, or nothing if it cannot be shown now: later would be too late.
func (n *notifyIcon) notify(text string) {
	data := notifyIconData{flags: nifInfo | nifRealtime, infoFlags: niifUser | niifNoSound | niifRespectQuietTime}
	copyUnits(data.info[:], text)
	copyUnits(data.infoTitle[:], n.title)
	n.call(nimModify, data)
}

func (n *notifyIcon) release() { _, _, _ = destroyIcon.Call(uintptr(n.handle)) }

// picture puts a picture into data, in the size that the taskbar wants.
func (n *notifyIcon) picture(file []byte, data *notifyIconData) {
	const version, defaultColor = 0x00030000, 0
	pixels := iconPixels()
	picture := icon.Picture(file, pixels)
	handle, _, _ := createIconFromResourceEx.Call(
		uintptr(unsafe.Pointer(&picture[0])), uintptr(len(picture)), 1, version, uintptr(pixels), uintptr(pixels), defaultColor)
	if handle == 0 {
		return // Windows has no memory left
	}
	_, _, _ = destroyIcon.Call(uintptr(n.handle)) // the taskbar has a copy of it
	n.handle, n.pixels = windows.Handle(handle), pixels
	data.icon = n.handle
	data.flags |= nifIcon
}

// iconPixels is the width of an icon in the taskbar.
func iconPixels() int {
	const smallIcon = 49 // SM_CXSMICON
	dpi, _, _ := dpiForWindow.Call(taskbarWindow())
	if dpi == 0 {
		dpi, _, _ = dpiForSystem.Call()
	}
	pixels, _, _ := systemMetricsForDPI.Call(smallIcon, dpi)
	return int(pixels)
}

// copyUnits copies as much of a text as fits, and leaves room for the terminating zero.
func copyUnits(to []uint16, text string) {
	copy(to, utf16.Encode([]rune(fit(text, len(to)-1))))
}

// utf16Of converts a text that contains no zero.
func utf16Of(text string) *uint16 {
	units, _ := windows.UTF16PtrFromString(text)
	return units
}
