package service

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// notifyTimeout is long: a machine that is busy with a log-in may take some of it, and a word that is lost has the agent killed.
const notifyTimeout = 10 * time.Second

// sendState sends one datagram. It blocks while the service manager takes none: so it needs no timer of Go for its deadline. An address
// that begins with @ is an abstract one.
func sendState(address, state string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		limit := unix.NsecToTimeval(notifyTimeout.Nanoseconds())
		err = errors.Join(unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
			unix.Sendto(fd, []byte(state), 0, &unix.SockaddrUnix{Name: address}))
	}
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	return nil
}

// tick is a time.Ticker that does not wake the agent more than it has to: before a timer of Go its runtime wakes, too, and looks every 20
// microseconds whether it is late. The kernel's timer is like any other event. wait returns when it is time, or an error after stop.
func tick(every time.Duration) (wait func() error, stop func(), err error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, nil, fmt.Errorf("make a timer: %w", err)
	}
	spec := unix.NsecToTimespec(every.Nanoseconds())
	timer := os.NewFile(uintptr(fd), "timer")
	if err := unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: spec, Value: spec}, nil); err != nil {
		_ = timer.Close()
		return nil, nil, fmt.Errorf("set a timer: %w", err)
	}
	count := make([]byte, 8)
	wait = func() error {
		_, err := timer.Read(count)
		return err
	}
	return wait, func() { _ = timer.Close() }, nil
}
