package tray

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/devices"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// shownTray is a tray whose frames come from the test. The library has one in a process.
type shownTray struct {
	*taskbar
	t       *testing.T
	chosen  chan action
	schemes chan desktop.Scheme
	allowed []uint32 // messages that programs with fewer rights may send, of the window for broadcasts and then of the icon's
}

// onlyTray is that one, which ends behind all tests.
var onlyTray = sync.OnceValue(func() *shownTray {
	s := &shownTray{chosen: make(chan action, 9), schemes: make(chan desktop.Scheme, 9)}
	h, err := newHost(Options{
		Address: `\\.\pipe\sidetone-taskbar-test`, Vendor: "Acme Audio", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		panic(err)
	}
	s.taskbar = h.(*taskbar)
	s.allow = func(window windows.HWND, id uint32) error {
		s.allowed = append(s.allowed, id)
		return allowMessage(window, id)
	}
	s.show(frameOf(viewOf(), texts.English))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- s.run(ctx, events{func(a action) { s.chosen <- a }, func(c desktop.Scheme) { s.schemes <- c }})
	}()
	<-s.schemes // now there is a window
	afterTests = func() {
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
	}
	return s
})

func frameOf(v view, lang string) frame {
	say := texts.For(lang)
	return frame{menu(v, say), icon.File(v.state(), icon.Light), tooltip(v, say)}
}

// startTray has the tray show a view on a taskbar that has just begun.
func startTray(t *testing.T, v view) (s *shownTray, bar *standInTaskbar, stop func()) {
	t.Helper()
	s = onlyTray()
	s.t = t
	s.menu.close() // which a test before may have left open
	s.waitUntilClosed()
	require.Empty(t, s.chosen)
	s.drawn(frameOf(v, texts.English))
	bar, stop = startTaskbar(t)
	s.send(taskbarCreated(), 0)
	bar.shown()
	return s, bar, stop
}

func (s *shownTray) send(id uint32, param uintptr) {
	s.t.Helper()
	broadcasttest.Send(s.t, os.Getpid(), id, param, 0)
}

// popup is the menu on the screen; 0: none is.
func (s *shownTray) popup() (menu uintptr) {
	if all := s.popups(); len(all) > 0 {
		menu = all[len(all)-1]
	}
	return menu
}

// popups are that menu and those of its rows that are open, the last one first.
func (s *shownTray) popups() (menus []uintptr) {
	const getMenu = 0x01e1 // MN_GETHMENU
	for window := uintptr(0); ; {
		window, _, _ = findWindowEx.Call(0, window, uintptr(unsafe.Pointer(menuClass)), 0)
		if window == 0 {
			return menus
		}
		if visible, _, _ := user32.NewProc("IsWindowVisible").Call(window); visible != 0 {
			menu, _, _ := sendMessage.Call(window, getMenu, 0, 0)
			menus = append(menus, menu)
		}
	}
}

// openMenu clicks on the icon.
func (s *shownTray) openMenu() {
	s.t.Helper()
	_, _, _ = postMessage.Call(uintptr(s.icon.window), libraryClicks, libraryIcon, wmRButtonUp)
	testlab.Eventually(s.t, "the menu is open", func() bool { return s.popup() != 0 })
}

// press has the user press a key in the menu.
func (s *shownTray) press(keys ...uintptr) {
	const keyDown = 0x0100
	for _, key := range keys {
		_, _, _ = postMessage.Call(uintptr(s.icon.window), keyDown, key, 0)
	}
}

const keyReturn, keyEscape, keyLeft, keyUp, keyRight, keyDown = 0x0d, 0x1b, 0x25, 0x26, 0x27, 0x28

// closed waits until the menu is.
func (s *shownTray) waitUntilClosed() {
	s.t.Helper()
	testlab.Eventually(s.t, "the menu is closed", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !s.menu.open
	})
}

// drawn waits until the rows are those of a view.
func (s *shownTray) drawn(f frame) {
	s.t.Helper()
	s.show(f)
	testlab.Eventually(s.t, "the rows are drawn", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.last.tooltip == f.tooltip && &s.last.items[0] == &f.items[0]
	})
}

// read is the menu that is open, as Windows has it, in the words of draw.
func (s *shownTray) read() (text string) {
	s.t.Helper()
	return readMenu(s.popup(), "")
}

// menuItemInfo is MENUITEMINFOW.
type menuItemInfo struct {
	size, mask, kind, state uint32
	_                       uint32
	submenu                 uintptr
	_, _, _                 uintptr
	text                    *uint16
	length                  uint32
	_                       uintptr
}

// Of winuser.h.
const (
	miimState, miimSubmenu, miimString, miimType = 0x1, 0x4, 0x40, 0x100

	mftSeparator, mfsDisabled, mfsChecked = 0x800, 0x3, 0x8
)

// rowOf is a row of a menu, as Windows has it.
func rowOf(menu, place uintptr) (info menuItemInfo, text string) {
	var units [400]uint16
	info = menuItemInfo{mask: miimType | miimState | miimString | miimSubmenu, text: &units[0], length: uint32(len(units))}
	info.size = uint32(unsafe.Sizeof(info))
	_, _, _ = user32.NewProc("GetMenuItemInfoW").Call(menu, place, 1, uintptr(unsafe.Pointer(&info)))
	return info, windows.UTF16ToString(units[:])
}

func readMenu(menu uintptr, indent string) string {
	getMenuItemCount := user32.NewProc("GetMenuItemCount")
	var b strings.Builder
	count, _, _ := getMenuItemCount.Call(menu)
	for i := range count {
		info, text := rowOf(menu, i)
		if info.kind&mftSeparator != 0 {
			b.WriteString(indent + "---\n")
			continue
		}
		mark := "> "
		switch {
		case info.state&mfsChecked != 0:
			mark = "[x] "
		case info.state&mfsDisabled != 0:
			mark = "- "
		}
		b.WriteString(indent + mark + text + "\n")
		if info.submenu != 0 {
			b.WriteString(readMenu(info.submenu, indent+"    "))
		}
	}
	return b.String()
}

// expectedMenu is what readMenu is to find.
func expectedMenu(items []item) string {
	return drawBy(items, "", func(it item) string {
		mark := "> "
		switch {
		case it.Check != nil && *it.Check:
			mark = "[x] "
		case it.Disabled:
			mark = "- "
		}
		return mark + label(it.Text)
	})
}

// TestWindowsHasEveryMenu: each row of each view is in the menu that opens, in each language.
func TestWindowsHasEveryMenu(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	for which, v := range views {
		for _, lang := range texts.Shipped.Languages() {
			want := frameOf(v, lang)
			s.drawn(want)
			s.openMenu()
			require.Equal(t, expectedMenu(want.items), s.read(), "%s in %s", which, lang)
			s.press(keyEscape)
			s.waitUntilClosed()
		}
	}
	require.Empty(t, s.chosen)
}

// TestAMenuThatIsOpenIsNotBuiltAnew: what its rows say changes, and none comes or goes. One whose action is over cannot be chosen any more.
func TestAMenuThatIsOpenIsNotBuiltAnew(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	s.openMenu()
	rows := strings.Count(s.read(), "\n")
	muted := viewOf(products(headset(1, "Acme Headset 700", devices.True), headset(2, "Acme Desk", devices.Unknown)),
		func(v *view) { v.Autostart = false })
	s.drawn(frameOf(muted, texts.English))
	require.Contains(t, s.read(), "muted, reported")
	require.Equal(t, rows, strings.Count(s.read(), "\n"))
	require.NotContains(t, s.read(), "Acme Desk")
	require.NotContains(t, s.read(), "[x]")
	s.drawn(frameOf(viewOf(agent(agentDown)), texts.English))
	require.Contains(t, s.read(), "- Pause reporting", "there is nothing to be paused")
	require.Equal(t, rows, strings.Count(s.read(), "\n"))
	s.press(keyEscape)
	s.waitUntilClosed()
	s.openMenu()
	require.Equal(t, expectedMenu(menu(viewOf(agent(agentDown)), texts.For(texts.English))), s.read())
	s.press(keyUp, keyReturn)
	require.Equal(t, actionQuit, <-s.chosen)
	s.waitUntilClosed()
}

// TestTheTaskbarShowsTheIcon, in the size that it wants, and again when it has been started anew, with what is so by then.
func TestTheTaskbarShowsTheIcon(t *testing.T) {
	s, bar, stop := startTray(t, viewOf())
	s.show(frameOf(views["muted"], texts.English))
	changed := bar.next(nimModify)
	require.Contains(t, changed.tip(), "is muted")
	require.EqualValues(t, nifIcon|nifTip, changed.Flags)
	require.EqualValues(t, iconPixels(), changed.Width)
	stop()
	s.drawn(frameOf(viewOf(agent(agentDown)), texts.English))
	again, _ := startTaskbar(t)
	s.send(taskbarCreated(), 0)
	shown := again.shown()
	require.Contains(t, shown.tip(), "is not running")
	require.EqualValues(t, nifIcon|nifTip, shown.Flags)
}

// TestATaskbarThatRefuses, as while the user logs in, is asked again.
func TestATaskbarThatRefuses(t *testing.T) {
	s, _, stop := startTray(t, viewOf())
	stop()
	bar, _ := startTaskbar(t)
	bar.refuse(2)
	require.False(t, probe(s.icon.window))
	bar.refuse(3) // the library is told twice of a new taskbar, by Windows and by the tray
	s.send(taskbarCreated(), 0)
	require.Contains(t, bar.shown().tip(), "2 devices are reported")
	require.True(t, probe(s.icon.window))
	probed := bar.next(nimAdd)
	require.EqualValues(t, nifState, probed.Flags)
	bar.next(nimDelete)
}

// TestAnotherTaskbarWhileTheIconIsAdded: Windows and the tray both tell the library of a new one, which may be slow.
func TestAnotherTaskbarWhileTheIconIsAdded(t *testing.T) {
	s, bar, _ := startTray(t, viewOf())
	told := make(chan struct{}, 100)
	bar.mu.Lock()
	bar.adding = func() {
		_, _, _ = sendMessage.Call(uintptr(s.icon.window), uintptr(taskbarCreated()), 0, 0)
		told <- struct{}{}
	}
	bar.mu.Unlock()
	s.send(taskbarCreated(), 0)
	testlab.Eventually(t, "the library goes on", func() bool { return len(told) > 0 })
	require.Contains(t, bar.shown().tip(), "2 devices are reported")
}

// TestTheIconFollowsTheScreen: what its size is to be is looked at when the resolution changes.
func TestTheIconFollowsTheScreen(t *testing.T) {
	_, bar, _ := startTray(t, viewOf())
	icon := notifyIcon{pixels: 7, window: onlyTray().icon.window}
	icon.redraw(frameOf(viewOf(), texts.English))
	changed := bar.next(nimModify)
	require.EqualValues(t, nifIcon, changed.Flags)
	require.EqualValues(t, iconPixels(), changed.Width)
	icon.redraw(frameOf(viewOf(), texts.English))
	require.Empty(t, bar.calls, "it was right already")
	icon.release()
	b := &taskbar{changed: signal.New()}
	for _, id := range []uint32{broadcast.DPIChanged, broadcast.DisplayChange, broadcast.SettingChange} {
		_, _ = b.handle(broadcast.Message{ID: id}, nil)
		<-b.changed
	}
}

func TestTheIconFollowsTheTheme(t *testing.T) {
	const path = `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`
	key, _, err := registry.CreateKey(registry.CURRENT_USER, path, registry.ALL_ACCESS)
	require.NoError(t, err)
	defer key.Close()
	s, _, _ := startTray(t, viewOf())
	for light, want := range map[uint32]desktop.Scheme{0: desktop.PreferDark, 1: desktop.PreferLight} {
		require.NoError(t, key.SetDWordValue("SystemUsesLightTheme", light))
		s.send(broadcast.SettingChange, 0)
		require.Equal(t, want, <-s.schemes)
	}
	require.NoError(t, key.DeleteValue("SystemUsesLightTheme"))
	s.send(broadcast.SettingChange, 0)
	require.Equal(t, desktop.NoPreference, <-s.schemes)
}

// TestNotification: it is shown without a sound, now or never. One that is too long is cut.
func TestNotification(t *testing.T) {
	s, bar, _ := startTray(t, viewOf())
	s.notify("Acme Headset 700 is muted")
	said := bar.next(nimModify)
	require.EqualValues(t, nifInfo|nifRealtime, said.Flags)
	require.EqualValues(t, niifUser|niifNoSound|niifRespectQuietTime, said.InfoFlags)
	require.Equal(t, "Acme Headset 700 is muted", windows.UTF16ToString(said.Info[:]))
	require.Equal(t, "Acme Audio", windows.UTF16ToString(said.Title[:]))
	s.notify(strings.Repeat("long ", 100))
	said = bar.next(nimModify)
	require.Regexp(t, "^(long )+(long|lo?n?)…$", windows.UTF16ToString(said.Info[:]))
}

// TestTheTrayEndsWithItsSession, and where an installer wants to replace it.
func TestTheTrayEndsWithItsSession(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	require.Less(t, broadcasttest.Rank(t), uint32(broadcasttest.OtherRank), "where another program has the end called off it is still there")
	answer, _ := broadcasttest.Send(t, os.Getpid(), broadcast.QueryEndSession, 0, 0)
	require.EqualValues(t, 1, answer)
	s.send(broadcast.EndSession, 0)
	require.Empty(t, s.chosen, "the end was called off")
	s.send(broadcast.EndSession, 1)
	require.Equal(t, actionQuit, <-s.chosen)
	s.send(broadcast.Close, 0)
	require.Equal(t, actionQuit, <-s.chosen)
}

// TestTheEndClosesTheMenu: it is left open, and the tray ends behind all tests.
func TestTheEndClosesTheMenu(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	s.openMenu()
}
