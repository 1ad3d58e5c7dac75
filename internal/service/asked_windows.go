package service

import (
	"fmt"

	"golang.org/x/sys/windows"

	"sidetone/internal/supervise"
)

// WhenAsked has stop called when who has started the agent asks it to end: by an event, since Windows has no signals. It is for the life of
// the process.
func WhenAsked(getenv func(string) string, stop func()) error {
	name := getenv(supervise.StopEventVariable)
	if name == "" {
		return nil
	}
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return fmt.Errorf("event %q: %w", name, err)
	}
	event, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name16)
	if err != nil {
		return fmt.Errorf("open the event %s: %w", name, err)
	}
	go func() {
		if _, err := windows.WaitForSingleObject(event, windows.INFINITE); err == nil {
			stop()
		}
	}()
	return nil
}
