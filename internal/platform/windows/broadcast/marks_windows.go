package broadcast

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	findWindowEx = user32.NewProc("FindWindowExW")
	setProp      = user32.NewProc("SetPropW")
	getProp      = user32.NewProc("GetPropW")
)

// Mark puts a property on the window that tells other programs of the session what the process does.
func (s *Subscription) Mark(mark string) error {
	mark16, err := windows.UTF16PtrFromString(mark)
	if err != nil {
		return err
	}
	if ok, _, err := setProp.Call(uintptr(s.window), uintptr(unsafe.Pointer(mark16)), 1); ok == 0 {
		return fmt.Errorf("mark the window for broadcasts as %s: %w", mark, err)
	}
	return nil
}

// A Marked is a process whose window has a mark.
type Marked struct {
	PID    uint32
	window windows.HWND
}

// Find returns the processes of this session whose windows have that mark. Any program of the session can set it.
func Find(mark string) (list []Marked, err error) {
	class, err := windows.UTF16PtrFromString(Class)
	if err != nil {
		return nil, err
	}
	mark16, err := windows.UTF16PtrFromString(mark)
	if err != nil {
		return nil, err
	}
	seen := make(map[uintptr]bool) // the order of the windows may change meanwhile
	for after := uintptr(0); ; {
		window, _, _ := findWindowEx.Call(0, after, uintptr(unsafe.Pointer(class)), 0)
		if window == 0 || seen[window] {
			return list, nil
		}
		after, seen[window] = window, true
		if has, _, _ := getProp.Call(window, uintptr(unsafe.Pointer(mark16))); has == 0 {
			continue
		}
		m := Marked{window: windows.HWND(window)}
		if _, err := windows.GetWindowThreadProcessId(m.window, &m.PID); err == nil {
			list = append(list, m)
		}
	}
}

// Close sends the process the message Close. What it does then is up to the process.
func (m Marked) Close() error {
	if ok, _, err := postMessage.Call(uintptr(m.window), uintptr(Close), 0, 0); ok == 0 {
		return fmt.Errorf("ask process %d to end: %w", m.PID, err)
	}
	return nil
}
