//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// reloadRequests is rung when 'run' is to read its configuration again.
func reloadRequests() <-chan os.Signal {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	return hup
}

// keepBrokenPipes lets writes to a standard output that nobody reads any more fail. Else they would
// end the program before it can put away what it has made. Nobody reads the channel: to ignore the
// signal would have programs ignore it that this one starts.
func keepBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
