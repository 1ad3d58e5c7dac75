package tray

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	createPopupMenu     = user32.NewProc("CreatePopupMenu")
	destroyMenu         = user32.NewProc("DestroyMenu")
	endMenu             = user32.NewProc("EndMenu")
	insertMenuItem      = user32.NewProc("InsertMenuItemW")
	setMenuItemInfo     = user32.NewProc("SetMenuItemInfoW")
	trackPopupMenu      = user32.NewProc("TrackPopupMenu")
	setForegroundWindow = user32.NewProc("SetForegroundWindow")
	postMessage         = user32.NewProc("PostMessageW")
	getSystemMetrics    = user32.NewProc("GetSystemMetrics")
	findWindowEx        = user32.NewProc("FindWindowExW")
	redrawWindow        = user32.NewProc("RedrawWindow")
)

// popup is the menu while it is open. Its rows are those that were shown when it was opened: none comes or goes before it is opened again, only
// their text, check and state change.
type popup struct {
	menu uintptr
	rows map[int]*popupRow // by their numbers
}

// popupRow is a row, and what of it is drawn.
type popupRow struct {
	menu     uintptr
	position uintptr
	drawn    menuItemInfo
	text     string
}

// Of winuser.h.
const (
	miimState, miimID, miimSubmenu, miimString, miimType = 0x1, 0x2, 0x4, 0x40, 0x100

	mftSeparator, mfsDisabled, mfsChecked = 0x800, 0x3, 0x8
)

// menuItemInfo is MENUITEMINFOW.
type menuItemInfo struct {
	size, mask, kind, state uint32
	id                      uint32
	submenu                 uintptr
	_, _, _                 uintptr
	text                    *uint16
	length                  uint32
	_                       uintptr
}

// Rows have numbers, those within another one, too: in every menu the same ones.

// eachRow calls visit with every row and its number, and returns the number behind the last.
func eachRow(items []Item, number int, visit func(number int, it Item)) int {
	for _, it := range items {
		visit(number, it)
		number = eachRow(it.Children, number+1, visit)
	}
	return number
}

// firstRow is the number of the first row. Windows says 0 when none is chosen.
const firstRow = 1

// rowAt is the row with a number; the zero Item: there is none.
func rowAt(items []Item, wanted int) (found Item) {
	eachRow(items, firstRow, func(number int, it Item) {
		if number == wanted {
			found = it
		}
	})
	return found
}

func newPopup(items []Item) *popup {
	p := &popup{rows: make(map[int]*popupRow)}
	p.menu, _ = p.add(items, firstRow)
	return p
}

// add makes a menu of the rows that are shown, and returns the number behind the last.
func (p *popup) add(items []Item, number int) (menu uintptr, next int) {
	menu, _, _ = createPopupMenu.Call()
	var position uintptr
	for _, it := range items {
		row := &popupRow{menu: menu, position: position}
		own := number
		number++
		if it.Text == "" && !it.Separator {
			number = eachRow(it.Children, number, func(int, Item) {})
			continue
		}
		row.set(it)
		row.drawn.mask |= miimID
		row.drawn.id = uint32(own)
		if it.Separator {
			row.drawn.kind, row.drawn.mask = mftSeparator, miimType
		}
		if len(it.Children) > 0 {
			row.drawn.submenu, number = p.add(it.Children, number)
			row.drawn.mask |= miimSubmenu
		}
		row.call(insertMenuItem)
		p.rows[own] = row
		position++
	}
	return menu, number
}

// set notes what is to be drawn, and reports whether that differs. A row that is not shown any more can no longer be chosen.
func (r *popupRow) set(it Item) (differs bool) {
	text, state := it.Text, uint32(0)
	if it.Text == "" {
		text = r.text
	}
	if it.Disabled || it.Text == "" {
		state |= mfsDisabled
	}
	if it.Check != nil && *it.Check {
		state |= mfsChecked
	}
	differs = text != r.text || state != r.drawn.state
	r.text, r.drawn.state, r.drawn.mask = text, state, miimString|miimState
	return differs
}

func (r *popupRow) call(what *windows.LazyProc) {
	const byPosition = 1
	info := r.drawn
	info.size = uint32(unsafe.Sizeof(info))
	info.text = utf16Of(label(r.text))
	_, _, _ = what.Call(r.menu, r.position, byPosition, uintptr(unsafe.Pointer(&info)))
}

// draw draws what differs. p may be nil.
func (p *popup) draw(items []Item) {
	if p == nil {
		return
	}
	var any bool
	eachRow(items, firstRow, func(number int, it Item) {
		if row := p.rows[number]; row != nil && !it.Separator && row.set(it) {
			row.call(setMenuItemInfo)
			any = true
		}
	})
	if any {
		redrawMenus()
	}
}

// redrawMenus has the menus on the screen painted again, which Windows does not do by itself.
func redrawMenus() {
	const invalidate = 0x1
	class := utf16Of("#32768")
	for window := uintptr(0); ; {
		window, _, _ = findWindowEx.Call(0, window, uintptr(unsafe.Pointer(class)), 0)
		if window == 0 {
			return
		}
		var process uint32
		thread, err := windows.GetWindowThreadProcessId(windows.HWND(window), &process)
		if err == nil && thread == windows.GetCurrentThreadId() {
			_, _, _ = redrawWindow.Call(window, 0, 0, invalidate)
		}
	}
}

// track shows the menu until the user has chosen a row, and returns its number, or 0.
func (p *popup) track(window windows.HWND, at point) (number int) {
	const returnCommand, noNotify, bottomAlign, rightAlign, rightButton = 0x100, 0x80, 0x20, 0x8, 0x2
	const dropAlignment = 40 // SM_MENUDROPALIGNMENT: menus are at the left of what they belong to
	flags := uintptr(returnCommand | noNotify | bottomAlign | rightButton)
	if left, _, _ := getSystemMetrics.Call(dropAlignment); left != 0 {
		flags |= rightAlign
	}
	_, _, _ = setForegroundWindow.Call(uintptr(window)) // else a click elsewhere does not close it
	id, _, _ := trackPopupMenu.Call(p.menu, flags, uintptr(at.x), uintptr(at.y), 0, uintptr(window), 0)
	_, _, _ = postMessage.Call(uintptr(window), 0, 0, 0) // and neither does the next one
	return int(id)
}

// close ends track. p may be nil.
func (p *popup) close() {
	if p != nil {
		_, _, _ = endMenu.Call()
	}
}

func (p *popup) destroy() { _, _, _ = destroyMenu.Call(p.menu) }
