//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// reloadRequests receives when 'run' is to reload its configuration.
func reloadRequests() <-chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// handleBrokenPipes makes writes to a closed standard output fail instead of killing the program before it can clean up. SIGPIPE goes to a
// channel that nobody reads, because child processes would inherit it if it were ignored.
func handleBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// onReaderGone calls leave when the reader of f, a pipe or a socket, is gone: a verb that waits for the next change would notice only at
// its next write. The goroutine that waits ends with the process.
func onReaderGone(f *os.File, leave func()) {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return
	}
	go func() {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}} // no events: POLLERR and POLLHUP are always reported
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
