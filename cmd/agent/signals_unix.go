//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// reloadRequests is sent to when 'run' is to read its configuration again.
func reloadRequests() <-chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// keepBrokenPipes lets writes to a standard output that nobody reads any more fail. Else they would
// end the program before it can put away what it has made. Nobody reads the channel: to ignore the
// signal would have programs ignore it that this one starts.
func keepBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

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
