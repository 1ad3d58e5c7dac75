package service

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/supervise"
)

// stopPoll is how often an agent that is checking whether it is alive looks whether it is asked to end.
const stopPoll = time.Second

// ServeSupervisor answers the process that has started the agent on Windows. It does so by events, since there are no signals, for the
// life of the process: it calls stop when the agent is asked to end, and answers when it is asked whether the agent is alive. If it
// returns an error, the agent hears no request, or only the one to end.
func ServeSupervisor(getenv func(string) string, stop, answers func()) error {
	name := getenv(supervise.StopEventVariable)
	if name == "" {
		return nil
	}
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return fmt.Errorf("event %q: %w", name, err)
	}
	end, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name16)
	if err != nil {
		return fmt.Errorf("the agent may be killed before clients are told of its end: open the event %s: %w", name, err)
	}
	alive, err := acl.NewEvent(supervise.AliveEvent(name, uint32(os.Getpid())), "", true)
	if err != nil {
		go func() {
			if _, err := windows.WaitForSingleObject(end, windows.INFINITE); err == nil {
				stop()
			}
		}()
		return fmt.Errorf("nobody starts the agent again if it hangs, or follows it to the next one: %w", err)
	}
	go func() {
		for {
			which, err := windows.WaitForMultipleObjects([]windows.Handle{end, alive}, false, windows.INFINITE)
			if err != nil {
				return
			}
			if which == windows.WAIT_OBJECT_0 || !answer(answers, end, alive) {
				stop()
				return
			}
		}
	}()
	return nil
}

// answer resets alive once answers has returned. It returns false if the agent was asked to end meanwhile.
func answer(answers func(), end, alive windows.Handle) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		answers()
		_ = windows.ResetEvent(alive)
	}()
	for {
		select {
		case <-done:
			return true
		case <-time.After(stopPoll):
		}
		if event, _ := windows.WaitForSingleObject(end, 0); event == windows.WAIT_OBJECT_0 {
			return false
		}
	}
}
