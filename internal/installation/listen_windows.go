package installation

import (
	"fmt"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// whoMayAsk is the access list of a process's events: full access for the system and administrators; the owner, who made the event, may
// wait for it.
const whoMayAsk = "D:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;0x00120000;;;S-1-3-4)"

// names is how many names there are for each event: somebody else may have taken some of them.
const names = 8

// Listen returns the installer's requests to this process, for the life of the process. Programs call it before anything else. Requests
// wait until they are read. It fails if somebody else has taken all names of one of the events: then no request is heard.
func Listen() (<-chan Request, error) {
	pid := windows.GetCurrentProcessId()
	started, err := startOf(windows.CurrentProcess())
	if err != nil {
		return nil, err
	}
	requests := []Request{End, Upgrade}
	var events []windows.Handle
	for _, r := range requests {
		event, err := newEvent(r, pid, started)
		if err != nil {
			for _, e := range events {
				_ = windows.CloseHandle(e)
			}
			return nil, err
		}
		events = append(events, event)
	}
	asked := make(chan Request, len(requests))
	go func() {
		for {
			i, err := windows.WaitForMultipleObjects(events, false, windows.INFINITE)
			if err != nil || int(i) >= len(requests) {
				return
			}
			asked <- requests[i]
		}
	}()
	return asked, nil
}

// newEvent makes the event for a request under the first name that is free.
func newEvent(r Request, pid uint32, started int64) (event windows.Handle, err error) {
	for n := range names {
		if event, err = acl.NewEvent(eventName(r, pid, started, n), whoMayAsk, false); err == nil {
			return event, nil
		}
	}
	return 0, err
}

// eventName is the name of a process's event for a request. Nobody can know the start time, in units of 100 ns, in advance.
func eventName(r Request, pid uint32, started int64, n int) string {
	return fmt.Sprintf(`Global\sidetone-%s-%d-%x-%d`, r, pid, started, n)
}

// startOf returns when a process was started, in units of 100 ns.
func startOf(process windows.Handle) (int64, error) {
	var made, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &made, &exited, &kernel, &user); err != nil {
		return 0, fmt.Errorf("when a process was started: %w", err)
	}
	return int64(made.HighDateTime)<<32 | int64(made.LowDateTime), nil
}
