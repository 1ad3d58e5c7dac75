package tray

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// TestATrayOfAnAdministrator hears the Explorer, which has fewer rights: of a new taskbar by both windows, and of clicks. All else that
// such programs say Windows keeps from it.
func TestATrayOfAnAdministrator(t *testing.T) {
	s, _, _ := startTray(t, viewOf())
	require.Equal(t, []uint32{taskbarCreated(), taskbarCreated(), libraryClicks}, s.allowed)
	h := &taskbar{}
	h.allowExplorer(windows.HWND(1), libraryClicks) // a tray with no more rights asks nothing of Windows
}
