package tray

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
	"sidetone/internal/texts"
)

// place is where a row is: its place among those that are shown, in the menu and in the menus of rows.
type place []uintptr

// placesOf are those of all rows that do something, by what they do.
func placesOf(items []item) map[action]place {
	found := make(map[action]place)
	shown := uintptr(0)
	for _, it := range items {
		switch {
		case !it.Separator && it.Text == "":
			continue
		case it.Action != "" && !it.Disabled:
			found[it.Action] = place{shown}
		}
		for action, below := range placesOf(it.Children) {
			found[action] = append(place{shown}, below...)
		}
		shown++
	}
	return found
}

// TestEachRowCanBeClicked with the mouse, in menus of rows, too.
func TestEachRowCanBeClicked(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	for _, which := range []string{"log_file", "paused", "paused_open", "down", "many_products", "right_to_left"} {
		rows := menu(views[which], texts.For(texts.English))
		s.drawn(frameOf(views[which], texts.English))
		for action, at := range placesOf(rows) {
			s.openMenu()
			open := s.popup()
			for _, row := range at {
				s.click(open, row)
				info, _ := rowOf(open, row)
				open = info.submenu
				if open != 0 {
					testlab.Eventually(t, "the row's menu is open", func() bool { return slices.Contains(s.popups(), open) })
				}
			}
			require.Equal(t, action, <-s.chosen, which)
			s.waitUntilClosed()
		}
	}
}

// click has the user click on a row of a menu.
func (s *shownTray) click(menu, row uintptr) {
	s.t.Helper()
	var rect struct{ left, top, right, bottom int32 }
	ok, _, err := user32.NewProc("GetMenuItemRect").Call(0, menu, row, uintptr(unsafe.Pointer(&rect)))
	require.NotZero(s.t, ok, err)
	_, _, _ = user32.NewProc("SetCursorPos").Call(uintptr((rect.left+rect.right)/2), uintptr((rect.top+rect.bottom)/2))
	const leftDown, leftUp = 0x0002, 0x0004 // MOUSEEVENTF
	for _, event := range []uintptr{leftDown, leftUp} {
		_, _, _ = user32.NewProc("mouse_event").Call(event, 0, 0, 0, 0)
	}
}

// TestEachRowCanBeReachedByKeys: arrows go through the rows, past separators, into a row's menu and out of it; Esc closes one menu after
// the other.
func TestEachRowCanBeReachedByKeys(t *testing.T) {
	s, _, _ := startTray(t, views["log_file"])
	rows := menu(views["log_file"], texts.For(texts.English))
	for action, at := range placesOf(rows) {
		s.openMenu()
		s.press(s.keysTo(at)...)
		s.press(keyReturn)
		require.Equal(t, action, <-s.chosen)
		s.waitUntilClosed()
	}
	at := placesOf(rows)[actionPauseHour]
	s.openMenu()
	s.press(s.keysTo(at)...)
	s.press(keyLeft, keyRight, keyDown, keyReturn)
	require.Equal(t, actionPauseHour, <-s.chosen)
	s.waitUntilClosed()
	s.openMenu()
	s.press(s.keysTo(at)...)
	s.press(keyEscape, keyEscape)
	s.waitUntilClosed()
	require.Empty(t, s.chosen)
}

// keysTo are those that lead to a row.
func (s *shownTray) keysTo(at place) (keys []uintptr) {
	open := s.popup()
	for depth, row := range at {
		if depth > 0 {
			keys = append(keys, keyRight) // and the first row
		}
		for above := range row {
			if info, _ := rowOf(open, above); info.kind&mftSeparator == 0 {
				keys = append(keys, keyDown)
			}
		}
		if depth == 0 {
			keys = append(keys, keyDown)
		}
		info, _ := rowOf(open, row)
		open = info.submenu
	}
	return keys
}

// TestANotificationIsClicked: it opens no menu and chooses nothing.
func TestANotificationIsClicked(t *testing.T) {
	s, bar, _ := startTray(t, viewOf())
	s.notify("Acme Headset 700 is muted")
	bar.next(nimModify)
	const shown, hidden, timedOut, clicked = 0x402, 0x403, 0x404, 0x405 // NIN_BALLOON
	for _, event := range []uintptr{shown, clicked, hidden, timedOut} {
		_, _, _ = sendMessage.Call(uintptr(s.icon.window), libraryClicks, libraryIcon, event)
	}
	require.Zero(t, s.popup())
	require.Empty(t, s.chosen)
}
