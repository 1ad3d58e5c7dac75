package desktop

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	user32           = windows.NewLazySystemDLL("user32.dll")
	openClipboard    = user32.NewProc("OpenClipboard")
	emptyClipboard   = user32.NewProc("EmptyClipboard")
	setClipboardData = user32.NewProc("SetClipboardData")
	closeClipboard   = user32.NewProc("CloseClipboard")

	kernel32     = windows.NewLazySystemDLL("kernel32.dll")
	globalAlloc  = kernel32.NewProc("GlobalAlloc")
	globalFree   = kernel32.NewProc("GlobalFree")
	globalLock   = kernel32.NewProc("GlobalLock")
	globalUnlock = kernel32.NewProc("GlobalUnlock")
)

const (
	unicodeText = 13     // CF_UNICODETEXT
	moveable    = 0x0002 // GMEM_MOVEABLE

	// clipboardTries is how often to try to open the clipboard, at intervals of clipboardRetry: one program has it at a time.
	clipboardTries = 20
	clipboardRetry = 50 * time.Millisecond
)

// Copy puts a text into the clipboard.
func (Desktop) Copy(ctx context.Context, text []byte) error {
	units, err := windows.UTF16FromString(strings.ReplaceAll(string(text), "\n", "\r\n"))
	if err != nil {
		return fmt.Errorf("copy to the clipboard: %w", err)
	}
	runtime.LockOSThread() // the clipboard belongs to a thread
	defer runtime.UnlockOSThread()
	if err := takeClipboard(ctx); err != nil {
		return fmt.Errorf("copy to the clipboard, which another program has: %w", err)
	}
	defer closeClipboard.Call() //nolint:errcheck // it is open
	if ok, _, err := emptyClipboard.Call(); ok == 0 {
		return fmt.Errorf("empty the clipboard: %w", err)
	}
	memory, _, err := globalAlloc.Call(moveable, uintptr(2*len(units)))
	if memory == 0 {
		return fmt.Errorf("copy to the clipboard: %w", err)
	}
	place, _, err := globalLock.Call(memory)
	if place == 0 {
		return fmt.Errorf("copy to the clipboard: %w", err)
	}
	copy(unsafe.Slice(*(**uint16)(unsafe.Pointer(&place)), len(units)), units)
	_, _, _ = globalUnlock.Call(memory)
	if ok, _, err := setClipboardData.Call(unicodeText, memory); ok == 0 {
		_, _, _ = globalFree.Call(memory) // on success the clipboard owns it
		return fmt.Errorf("copy to the clipboard: %w", err)
	}
	return nil
}

// takeClipboard opens the clipboard, for which it waits a moment.
func takeClipboard(ctx context.Context) error {
	for try := 1; ; try++ {
		ok, _, err := openClipboard.Call(0)
		if ok != 0 {
			return nil
		}
		if try == clipboardTries {
			return err
		}
		select {
		case <-time.After(clipboardRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
