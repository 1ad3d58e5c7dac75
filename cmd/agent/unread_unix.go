//go:build unix

package main

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// whenUnread calls leave once nobody can read any more what is written to f, if f is a pipe or a
// socket: a verb that waits for the next change would otherwise not learn of it before that. It
// waits in a goroutine that ends with the process.
func whenUnread(f *os.File, leave func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	go func() {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}} // no events: POLLERR and POLLHUP come unasked
		for {
			_, err := unix.Poll(fds, -1)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				leave()
			}
			return
		}
	}()
}
