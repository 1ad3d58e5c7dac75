package tray

import (
	"sync"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/tray/icon"
)

var (
	user32                   = windows.NewLazySystemDLL("user32.dll")
	findWindow               = user32.NewProc("FindWindowW")
	registerWindowMessage    = user32.NewProc("RegisterWindowMessageW")
	dpiForWindow             = user32.NewProc("GetDpiForWindow")
	dpiForSystem             = user32.NewProc("GetDpiForSystem")
	systemMetricsForDPI      = user32.NewProc("GetSystemMetricsForDpi")
	createIconFromResourceEx = user32.NewProc("CreateIconFromResourceEx")
	destroyIcon              = user32.NewProc("DestroyIcon")
	shellNotifyIcon          = windows.NewLazySystemDLL("shell32.dll").NewProc("Shell_NotifyIconW")
)

// Of shellapi.h: what Shell_NotifyIcon does, which fields count, how a notification is shown, and what the icon tells.
const (
	nimAdd, nimModify, nimDelete, nimSetVersion = 0, 1, 2, 4

	nifMessage, nifIcon, nifTip, nifInfo, nifRealtime, nifShowTip = 0x1, 0x2, 0x4, 0x10, 0x40, 0x80

	niifUser, niifNoSound, niifRespectQuietTime = 0x4, 0x10, 0x80

	notifyIconVersion4 = 4

	ninSelect, ninKeySelect, wmContextMenu = 0x400, 0x401, 0x7b
)

// iconMessage is what the taskbar sends the window when the icon is used: WM_APP.
const iconMessage uint32 = 0x8000

// taskbarName is the class of the taskbar's window.
var taskbarName = utf16Of("Shell_TrayWnd")

// taskbarCreated is what a taskbar tells all windows that has begun.
var taskbarCreated = sync.OnceValue(func() uint32 {
	id, _, _ := registerWindowMessage.Call(uintptr(unsafe.Pointer(utf16Of("TaskbarCreated"))))
	return uint32(id)
})

// notifyIconData is NOTIFYICONDATAW.
type notifyIconData struct {
	size        uint32
	window      windows.HWND
	id          uint32
	flags       uint32
	message     uint32
	icon        windows.Handle
	tip         [128]uint16
	_, _        uint32
	info        [256]uint16
	version     uint32
	infoTitle   [64]uint16
	infoFlags   uint32
	_           windows.GUID
	balloonIcon windows.Handle
}

// notifyIcon is the icon beside the clock.
type notifyIcon struct {
	title  string // of notifications
	there  bool
	window windows.HWND
	handle windows.Handle
	pixels int // of the handle's picture
}

// call has the taskbar do something about the icon, and reports whether it has.
func (n *notifyIcon) call(what uintptr, data notifyIconData) bool {
	data.size, data.window, data.id = uint32(unsafe.Sizeof(data)), n.window, 1
	ok, _, _ := shellNotifyIcon.Call(what, uintptr(unsafe.Pointer(&data)))
	return ok != 0
}

// put puts it there, and reports whether the taskbar has taken it.
func (n *notifyIcon) put(window windows.HWND, f frame) bool {
	n.window = window
	data := notifyIconData{flags: nifMessage | nifShowTip | nifTip, message: iconMessage}
	copyUnits(data.tip[:], f.tooltip)
	n.picture(f.icon, &data)
	// One that timed out may be there all the same.
	n.there = n.call(nimAdd, data) || n.call(nimModify, data)
	if n.there {
		n.call(nimSetVersion, notifyIconData{version: notifyIconVersion4})
	}
	return n.there
}

// draw draws what differs.
func (n *notifyIcon) draw(last, next frame) {
	var data notifyIconData
	if string(last.icon) != string(next.icon) {
		n.picture(next.icon, &data)
	}
	if last.tooltip != next.tooltip {
		data.flags |= nifTip | nifShowTip
		copyUnits(data.tip[:], next.tooltip)
	}
	if n.there && data.flags != 0 {
		n.call(nimModify, data)
	}
}

// redraw draws the picture in another size, if the taskbar wants it.
func (n *notifyIcon) redraw(f frame) {
	if n.there && iconPixels() != n.pixels {
		var data notifyIconData
		n.picture(f.icon, &data)
		n.call(nimModify, data)
	}
}

// notify shows a text, or none if it cannot be shown now: then it would come too late.
func (n *notifyIcon) notify(text string) {
	data := notifyIconData{flags: nifInfo | nifRealtime, infoFlags: niifUser | niifNoSound | niifRespectQuietTime}
	copyUnits(data.info[:], text)
	copyUnits(data.infoTitle[:], n.title)
	if n.there {
		n.call(nimModify, data)
	}
}

func (n *notifyIcon) remove() {
	n.call(nimDelete, notifyIconData{})
	_, _, _ = destroyIcon.Call(uintptr(n.handle))
}

// picture makes data draw a picture, in the size that the taskbar wants.
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

// iconPixels is how wide an icon is on the taskbar.
func iconPixels() int {
	const smallIcon = 49 // SM_CXSMICON
	taskbar, _, _ := findWindow.Call(uintptr(unsafe.Pointer(taskbarName)), 0)
	dpi, _, _ := dpiForWindow.Call(taskbar)
	if dpi == 0 {
		dpi, _, _ = dpiForSystem.Call()
	}
	pixels, _, _ := systemMetricsForDPI.Call(smallIcon, dpi)
	return int(pixels)
}

// asksForMenu reports whether the user has clicked on the icon, or has pressed a key there.
func asksForMenu(m broadcast.Message) bool {
	switch uint16(m.Data) {
	case ninSelect, ninKeySelect, wmContextMenu:
		return true
	}
	return false
}

// point is a place on the screens, which may be left of the first one.
type point struct{ x, y int32 }

// pointOf is where that was.
func pointOf(m broadcast.Message) point {
	return point{int32(int16(m.Param)), int32(int16(m.Param >> 16))}
}

// copyUnits copies as much of a text as fits, with a zero behind it.
func copyUnits(to []uint16, text string) {
	copy(to, utf16.Encode([]rune(fit(text, len(to)-1))))
}

// utf16Of is a text as Windows reads it. None of these has a zero in it.
func utf16Of(text string) *uint16 {
	units, _ := windows.UTF16PtrFromString(text)
	return units
}
