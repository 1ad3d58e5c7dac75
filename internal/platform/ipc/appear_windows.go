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

// appearInterval is the time from one word of an agent that appears to the next. Any program of the session may pretend that there is one:
// it doubles while words follow each other within lastAppearInterval, up to that.
const appearInterval, lastAppearInterval = 100 * time.Millisecond, 5 * time.Second

// nextAppearInterval follows another one, and how long nothing was said after that.
func nextAppearInterval(last, quiet time.Duration) time.Duration {
	if quiet >= lastAppearInterval {
		return appearInterval
	}
	return min(2*last, lastAppearInterval)
}

// appearEvent names the event by which an agent tells who waits for it that it listens now: Windows tells nobody of a new pipe alone.
func appearEvent(address string) (*uint16, error) {
	return windows.UTF16PtrFromString(`Local\` + strings.TrimPrefix(address, paths.Pipes) + "-appears")
}

// tellAppeared tells who waits for an agent at address.
func tellAppeared(address string) {
	name, err := appearEvent(address)
	if err != nil {
		return
	}
	if event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name); err == nil { // else nobody waits
		_ = windows.SetEvent(event)
		_ = windows.CloseHandle(event)
	}
}

// WatchControl calls notify, which must not block, whenever an agent has begun to listen at address, until stop is called. It costs a
// thread that sleeps.
func WatchControl(address string, notify func()) (stop func(), err error) {
	name, err := appearEvent(address)
	if err != nil {
		return nil, fmt.Errorf("wait for the control pipe %s: %w", address, err)
	}
	appears, err := windows.CreateEvent(nil, 0, 0, name)
	if err != nil && !errors.Is(err, windows.ERROR_ALREADY_EXISTS) { // then there is a handle, too
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
			_ = windows.ResetEvent(appears) // where another program has made it, it may stay set
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
