package service

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

const (
	endCommand  = "kill"
	killCommand = "kill -KILL"
)

// process is a process by its pidfd.
type process int

// openProcess opens a process. fs.ErrNotExist means that it has ended.
func openProcess(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist
	}
	return process(fd), err
}

func (p process) close() { _ = unix.Close(int(p)) }

// wait reports whether the process has ended, for which it waits up to limit.
func (p process) wait(limit time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(limit)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0, err
		}
	}
}
