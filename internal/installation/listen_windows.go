package installation

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// whoMayAsk is the access list of a process's events: the system and administrators do what they want, and its owner, who made it, may
// wait for it.
const whoMayAsk = "D:P(A;;GA;;;SY)(A;;GA;;;BA)(A;;0x00120000;;;S-1-3-4)"

// Listen has asked called when an installer asks something of this process, for the life of the process. It fails where somebody has taken
// the name of one of its events: then nobody is listened to.
func Listen(asked func(Request)) error {
	pid := windows.GetCurrentProcessId()
	started, err := startOf(windows.CurrentProcess())
	if err != nil {
		return err
	}
	requests := []Request{End, Upgrade}
	var events []windows.Handle
	for _, r := range requests {
		event, err := newEvent(eventName(r, pid, started))
		if err != nil {
			for _, e := range events {
				_ = windows.CloseHandle(e)
			}
			return err
		}
		events = append(events, event)
	}
	go func() {
		for {
			i, err := windows.WaitForMultipleObjects(events, false, windows.INFINITE)
			if err != nil || int(i) >= len(requests) {
				return
			}
			asked(requests[i])
		}
	}()
	return nil
}

// eventName is that of the event by which a process is asked. The time of its start, in units of 100 ns, is known to nobody before, so that
// only who watches all processes can take the name in the moment between that and Listen.
func eventName(r Request, pid uint32, started int64) string {
	return fmt.Sprintf(`Global\sidetone-%s-%d-%x`, r, pid, started)
}

// newEvent makes an event that nobody has made before.
func newEvent(name string) (windows.Handle, error) {
	sd, err := windows.SecurityDescriptorFromString(whoMayAsk)
	if err != nil {
		return 0, err
	}
	attributes := &windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, err
	}
	event, err := windows.CreateEvent(attributes, 0, 0, name16)
	if err != nil {
		if event != 0 {
			_ = windows.CloseHandle(event) // another's
		}
		return 0, fmt.Errorf("make the event %s, by which an installer would ask for the end: %w", name, err)
	}
	return event, nil
}

// startOf is when a process was started, in units of 100 ns.
func startOf(process windows.Handle) (int64, error) {
	var made, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &made, &exited, &kernel, &user); err != nil {
		return 0, fmt.Errorf("when a process was started: %w", err)
	}
	return int64(made.HighDateTime)<<32 | int64(made.LowDateTime), nil
}
