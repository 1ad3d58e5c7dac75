package service

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// notifyTimeout is long, since a machine that is busy with a log-in may be slow, and a lost datagram gets the agent killed.
const notifyTimeout = 10 * time.Second

// sendState sends one datagram. It blocks while the service manager accepts none, and the kernel ends that, so no Go timer is needed. An
// address that begins with @ is abstract.
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

// tick is a time.Ticker that wakes the agent no more than necessary: shortly before a Go timer fires, the runtime wakes and polls every
// 20 microseconds, while a kernel timer is an event like any other. wait returns when it is time, or with an error after stop.
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
