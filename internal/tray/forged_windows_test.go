package tray

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/texts"
)

// Messages that any program of the session may send to the icon's window.
const (
	wmNull = 0x0000
	wmUser = 0x0400
)

// TestForgedMessages: a program that pretends that rows are chosen while there is no menu has nothing done, and leaves icon and
// menu as they are.
func TestForgedMessages(t *testing.T) {
	s, bar, _ := startTray(t, viewOf())
	window := uintptr(s.icon.window)
	for id := range uintptr(300) {
		for _, message := range []struct{ id, param, data uintptr }{
			{wmCommand, id, 0},                           // a row
			{wmCommand, id, window},                      // a button
			{uintptr(taskbarCreated()), 0, 0},            // a new taskbar
			{libraryClicks, libraryIcon, id},             // uses of the icon, of which none is a click
			{wmUser + id, id, id}, {0x8000 + id, id, id}, // what programs agree upon
			{uintptr(broadcast.EndSession), 0, 0},                  // the end of the session is called off
			{uintptr(broadcast.QueryEndSession), 0, 0},             // and may come
			{uintptr(broadcast.DPIChanged), id, 0}, {wmNull, 0, 0}, // and others
		} {
			_, _, _ = postMessage.Call(window, message.id, message.param, message.data)
		}
		if id%100 == 0 {
			_, _, _ = sendMessage.Call(window, wmNull, 0, 0) // so that the queue is never full
		}
	}
	_, _, _ = sendMessage.Call(window, wmNull, 0, 0)
	require.Zero(t, s.popup())
	s.send(taskbarCreated(), 0)
	s.drawn(frameOf(views["muted"], texts.English))
	for {
		call := <-bar.calls
		require.NotEqualValues(t, nimDelete, call.what, "the icon is taken away")
		if call.icon.Flags&nifTip != 0 && strings.Contains(call.icon.tip(), "is muted") {
			break
		}
	}
	require.Empty(t, s.chosen)
	s.openMenu()
	s.press(keyUp, keyReturn)
	require.Equal(t, actionQuit, <-s.chosen)
	s.waitUntilClosed()
}

// TestClicksOnAnOpenMenu: however often the icon is clicked meanwhile, there is one menu, and none when it has been closed.
func TestClicksOnAnOpenMenu(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	s.openMenu()
	for range 1000 {
		_, _, _ = postMessage.Call(uintptr(s.icon.window), libraryClicks, libraryIcon, wmRButtonUp)
	}
	s.press(keyEscape)
	s.waitUntilClosed()
	_, _, _ = sendMessage.Call(uintptr(s.icon.window), wmNull, 0, 0)
	require.Zero(t, s.popup())
}

// TestAStormWhileTheMenuIsOpen: of a thousand changes the last one is what the menu says.
func TestAStormWhileTheMenuIsOpen(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	s.openMenu()
	var last frame
	for n := range 1000 {
		last = frameOf(viewOf(products(headset(1, fmt.Sprint("Headset ", n), devices.True))), texts.English)
		s.show(last)
	}
	s.drawn(last)
	require.Contains(t, s.read(), "Headset 999")
	s.press(keyEscape)
	s.waitUntilClosed()
}

// TestTheSessionEndsWhileTheMenuIsOpen: Windows has its answer although the menu waits for the user.
func TestTheSessionEndsWhileTheMenuIsOpen(t *testing.T) {
	s, bar, _ := startTray(t, viewOf())
	s.openMenu()
	tell := func(id uint32, param uintptr) (answer uintptr) { // both windows of the tray
		own, _, _ := sendMessage.Call(uintptr(s.icon.window), uintptr(id), param, 0)
		answer, took := broadcasttest.Send(t, os.Getpid(), id, param, 0)
		t.Logf("answered in %s", took)
		return own & answer
	}
	require.EqualValues(t, 1, tell(broadcast.QueryEndSession, 0))
	tell(broadcast.EndSession, 0)
	require.Empty(t, bar.calls, "it was called off: the icon stays")
	require.Empty(t, s.chosen)
	require.NotZero(t, s.popup())
	tell(broadcast.QueryEndSession, 0)
	tell(broadcast.EndSession, 1)
	require.Equal(t, actionQuit, <-s.chosen)
	s.menu.close()
	s.waitUntilClosed()
}
