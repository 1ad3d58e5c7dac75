//go:build unix

package main

import (
	"os"
	"syscall"
)

// reloadSignals make 'run' read its configuration again.
var reloadSignals = []os.Signal{syscall.SIGHUP}
