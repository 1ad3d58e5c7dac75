package tray

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// shownTray is a tray whose frames come from the test.
type shownTray struct {
	*taskbar
	t       *testing.T
	log     *bytes.Buffer // to be read when the tray has ended
	chosen  chan Action
	schemes chan desktop.Scheme
	first   desktop.Scheme // of those
	end     func()
}

func frameOf(v View, lang string) frame {
	say := texts.For(lang)
	return frame{menu(v, say), icon.File(v.state(), icon.Light), tooltip(v, say)}
}

func startTray(t *testing.T, v View) *shownTray {
	t.Helper()
	var said bytes.Buffer
	h, err := newHost(Options{Address: ipctest.Folder(t), Vendor: "Acme Audio", Log: slog.New(slog.NewTextHandler(&said, nil))})
	require.NoError(t, err)
	s := &shownTray{taskbar: h.(*taskbar), t: t, log: &said, chosen: make(chan Action, 9), schemes: make(chan desktop.Scheme, 9)}
	s.show(frameOf(v, texts.English))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.run(ctx, events{func(a Action) { s.chosen <- a }, func(c desktop.Scheme) { s.schemes <- c }})
	}()
	s.end = func() {
		cancel()
		if ended != nil {
			require.NoError(t, <-ended)
			ended = nil
		}
	}
	t.Cleanup(s.end)
	s.first = <-s.schemes // now there is a window
	return s
}

// onWindow has f called where the tray's window is.
func (s *shownTray) onWindow(f func()) {
	s.t.Helper()
	done := make(chan struct{})
	require.NoError(s.t, s.window.Do(func() {
		defer close(done)
		f()
	}))
	<-done
}

func (s *shownTray) send(id uint32, param uintptr) {
	s.t.Helper()
	broadcasttest.Send(s.t, os.Getpid(), id, param, 0)
}

// openMenu clicks on the icon.
func (s *shownTray) openMenu(bar *standInTaskbar, shown shownIcon) {
	s.t.Helper()
	bar.tell(shown, wmContextMenu, point{100, 100})
	testlab.Eventually(s.t, "the menu is open", func() (open bool) {
		s.onWindow(func() { open = s.open != nil && inMenu() })
		return open
	})
}

// press has the user press a key in the menu.
func (s *shownTray) press(shown shownIcon, keys ...uintptr) {
	const keyDown = 0x0100
	for _, key := range keys {
		_, _, _ = postMessage.Call(uintptr(shown.Window), keyDown, key, 0)
	}
}

const keyReturn, keyEscape, keyUp = 0x0d, 0x1b, 0x26

// inMenu reports whether this thread shows a menu.
func inMenu() bool {
	const inMenuMode = 0x4
	info := struct {
		size, flags uint32
		_           [6]uintptr
		_           [4]int32
	}{}
	info.size = uint32(unsafe.Sizeof(info))
	_, _, _ = user32.NewProc("GetGUIThreadInfo").Call(uintptr(windows.GetCurrentThreadId()), uintptr(unsafe.Pointer(&info)))
	return info.flags&inMenuMode != 0
}

// closed waits until the menu is.
func (s *shownTray) closed() {
	s.t.Helper()
	testlab.Eventually(s.t, "the menu is closed", func() (closed bool) {
		s.onWindow(func() { closed = s.open == nil })
		return closed
	})
}

// read is the menu that is open, as Windows has it, in the words of draw.
func (s *shownTray) read() (text string) {
	s.t.Helper()
	s.onWindow(func() { text = readMenu(s.open.menu, "") })
	return text
}

func readMenu(menu uintptr, indent string) string {
	getMenuItemCount, getMenuItemInfo := user32.NewProc("GetMenuItemCount"), user32.NewProc("GetMenuItemInfoW")
	var b strings.Builder
	count, _, _ := getMenuItemCount.Call(menu)
	for i := range count {
		var text [400]uint16
		info := menuItemInfo{mask: miimType | miimState | miimString | miimSubmenu, text: &text[0], length: uint32(len(text))}
		info.size = uint32(unsafe.Sizeof(info))
		_, _, _ = getMenuItemInfo.Call(menu, i, 1, uintptr(unsafe.Pointer(&info)))
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
		b.WriteString(indent + mark + windows.UTF16ToString(text[:]) + "\n")
		if info.submenu != 0 {
			b.WriteString(readMenu(info.submenu, indent+"    "))
		}
	}
	return b.String()
}

// expectedMenu is what readMenu is to find.
func expectedMenu(items []Item, indent string) string {
	var b strings.Builder
	for _, it := range items {
		mark := "> "
		switch {
		case it.Separator:
			b.WriteString(indent + "---\n")
			continue
		case it.Text == "":
			continue
		case it.Check != nil && *it.Check:
			mark = "[x] "
		case it.Disabled:
			mark = "- "
		}
		b.WriteString(indent + mark + label(it.Text) + "\n" + expectedMenu(it.Children, indent+"    "))
	}
	return b.String()
}

// TestWindowsHasEveryMenu: each row of each view is in the menu that opens, in each language.
func TestWindowsHasEveryMenu(t *testing.T) {
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	shown := bar.shown()
	for which, v := range views {
		for _, lang := range texts.Shipped.Languages() {
			want := frameOf(v, lang)
			s.onWindow(func() { s.last.items = want.items })
			s.openMenu(bar, shown)
			require.Equal(t, expectedMenu(want.items, ""), s.read(), "%s in %s", which, lang)
			s.press(shown, keyEscape)
			s.closed()
		}
	}
	require.Empty(t, s.chosen)
}

// TestAMenuThatIsOpenIsNotBuiltAnew: what its rows say changes, and none comes or goes. One whose action is over cannot be chosen any more.
func TestAMenuThatIsOpenIsNotBuiltAnew(t *testing.T) {
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	shown := bar.shown()
	s.openMenu(bar, shown)
	rows := strings.Count(s.read(), "\n")
	muted := view(products(headset(1, "Acme Headset 700", 1), headset(2, "Acme Desk", 0)), func(v *View) {
		v.Autostart = false
		v.Agent = Up
	})
	s.show(frameOf(muted, texts.English))
	testlab.Eventually(t, "its rows have changed", func() bool { return strings.Contains(s.read(), "muted") })
	require.Equal(t, rows, strings.Count(s.read(), "\n"))
	require.NotContains(t, s.read(), "Acme Desk")
	require.NotContains(t, s.read(), "[x]")
	s.show(frameOf(view(agent(Down)), texts.English))
	testlab.Eventually(t, "there is nothing to be paused", func() bool { return strings.Contains(s.read(), "- Pause reporting") })
	require.Equal(t, rows, strings.Count(s.read(), "\n"))
	s.press(shown, keyEscape)
	s.closed()
	s.openMenu(bar, shown)
	require.Equal(t, expectedMenu(menu(view(agent(Down)), texts.For(texts.English)), ""), s.read())
	s.press(shown, keyUp, keyReturn)
	require.Equal(t, ActionQuit, <-s.chosen)
}

// TestTheTaskbarShowsTheIcon, in the size that it wants, and again when it has been started anew, with what is so by then.
func TestTheTaskbarShowsTheIcon(t *testing.T) {
	bar, stop := startTaskbar(t)
	s := startTray(t, view())
	shown := bar.shown()
	require.Contains(t, shown.tip(), "2 devices are reported")
	require.EqualValues(t, nifMessage|nifIcon|nifTip|nifShowTip, shown.Flags)
	require.EqualValues(t, iconPixels(), shown.Width)

	s.show(frameOf(views["muted"], texts.English))
	changed := bar.next(nimModify)
	require.Contains(t, changed.tip(), "is muted")
	require.EqualValues(t, nifIcon|nifTip|nifShowTip, changed.Flags)

	stop()
	s.onWindow(func() { s.draw(frameOf(view(agent(Down)), texts.English)) })
	again, _ := startTaskbar(t)
	s.send(taskbarCreated(), 0)
	require.Contains(t, again.shown().tip(), "is not running")
	s.end()
	again.next(nimDelete)
}

// TestATaskbarThatRefuses, as while the user logs in, is asked again. One that took the icon too late to say so has it.
func TestATaskbarThatRefuses(t *testing.T) {
	bar, _ := startTaskbar(t)
	bar.refuse(2)
	s := startTray(t, view())
	bar.shown()
	bar.refuse(1)
	s.send(taskbarCreated(), 0)
	bar.next(nimModify)
	bar.next(nimSetVersion)
	s.end()
	bar.next(nimDelete)
	require.Contains(t, s.log.String(), "has not taken the icon")
}

// TestTheIconFollowsTheScreen: what its size is to be is looked at when the resolution changes.
func TestTheIconFollowsTheScreen(t *testing.T) {
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	bar.shown()
	for _, id := range []uint32{broadcast.DPIChanged, broadcast.DisplayChange, broadcast.SettingChange} {
		s.onWindow(func() { s.icon.pixels = 7 })
		s.send(id, 0)
		changed := bar.next(nimModify)
		require.EqualValues(t, nifIcon, changed.Flags)
		require.EqualValues(t, iconPixels(), changed.Width)
		s.send(id, 0)
	}
	s.onWindow(func() {})
	require.Empty(t, bar.calls, "it was right already")
}

func TestTheIconFollowsTheTheme(t *testing.T) {
	key, _, err := registry.CreateKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.ALL_ACCESS)
	require.NoError(t, err)
	defer key.Close()
	set := func(light uint32) { require.NoError(t, key.SetDWordValue("SystemUsesLightTheme", light)) }
	set(1)
	t.Cleanup(func() { _ = key.DeleteValue("SystemUsesLightTheme") })
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	bar.shown()
	require.Equal(t, desktop.PreferLight, s.first)
	set(0)
	s.send(broadcast.SettingChange, 0)
	require.Equal(t, desktop.PreferDark, <-s.schemes)
	s.send(broadcast.SettingChange, 0)
	s.onWindow(func() {})
	require.Empty(t, s.schemes, "it has not changed")
}

// TestNotification: it is shown without a sound, now or never. One that is too long is cut.
func TestNotification(t *testing.T) {
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	bar.shown()
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
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	bar.shown()
	answer, _ := broadcasttest.Send(t, os.Getpid(), broadcast.QueryEndSession, 0, 0)
	require.EqualValues(t, 1, answer)
	s.send(broadcast.EndSession, 0)
	require.Empty(t, s.chosen, "the end was called off")
	s.send(broadcast.EndSession, 1)
	require.Equal(t, ActionQuit, <-s.chosen)
	s.send(broadcast.Close, 0)
	require.Equal(t, ActionQuit, <-s.chosen)
}

// TestTheTrayEndsWhileItsMenuIsOpen.
func TestTheTrayEndsWhileItsMenuIsOpen(t *testing.T) {
	bar, _ := startTaskbar(t)
	s := startTray(t, view())
	s.openMenu(bar, bar.shown())
	s.end()
	bar.next(nimDelete)
}
