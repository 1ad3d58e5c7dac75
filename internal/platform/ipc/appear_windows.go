package ipc

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/paths"
)

// appearInterval is the shortest time between two notifications of an agent that appears. Any program of the session may pretend that
// there is one, so it doubles while notifications follow each other within lastAppearInterval, up to that.
const appearInterval, lastAppearInterval = 100 * time.Millisecond, 5 * time.Second

// nextAppearInterval returns the interval after last, when nothing was notified for quiet.
func nextAppearInterval(last, quiet time.Duration) time.Duration {
	if quiet >= lastAppearInterval {
		return appearInterval
	}
	return min(2*last, lastAppearInterval)
}

// appearEvent is the name of the event by which an agent says that it listens: Windows does not report new pipes.
func appearEvent(address string) (*uint16, error) {
	return windows.UTF16PtrFromString(`Local\` + strings.TrimPrefix(address, paths.Pipes) + "-appears")
}

// announceListening notifies those who wait for an agent at address.
func announceListening(address string) {
	name, err := appearEvent(address)
	if err != nil {
		return
	}
	if event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name); err == nil { // otherwise nobody waits
		_ = windows.SetEvent(event)
		_ = windows.CloseHandle(event)
	}
}

// WatchControl calls notify, which must not block, whenever an agent begins to listen at address, until stop is called. It costs a
// sleeping thread.
func WatchControl(address string, notify func()) (stop func(), err error) {
	name, err := appearEvent(address)
	if err != nil {
		return nil, fmt.Errorf("wait for the control pipe %s: %w", address, err)
	}
	appears, err := windows.CreateEvent(nil, 0, 0, name)
	if err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) { // which comes with a handle
		return nil, fmt.Errorf("wait for the control pipe %s: %w", address, err)
	}
	end, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		_ = windows.CloseHandle(appears)
		return nil, fmt.Errorf("wait for the control pipe %s: %w", address, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		interval := appearInterval / 2
		for {
			begun := time.Now()
			which, err := windows.WaitForMultipleObjects([]windows.Handle{end, appears}, false, windows.INFINITE)
			if err != nil || which == windows.WAIT_OBJECT_0 {
				return
			}
			_ = windows.ResetEvent(appears) // it stays set if another program has created it as a manual one
			notify()
			interval = nextAppearInterval(interval, time.Since(begun))
			if which, err = windows.WaitForSingleObject(end, uint32(interval.Milliseconds())); err != nil || which == windows.WAIT_OBJECT_0 {
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		_ = windows.SetEvent(end)
		<-ended
		_ = windows.CloseHandle(end)
		_ = windows.CloseHandle(appears)
	}), nil
}
