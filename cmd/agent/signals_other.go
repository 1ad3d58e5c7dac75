//go:build !unix

package main

import "os"

// reloadSignals make 'run' read its configuration again; this OS has no signal for it.
var reloadSignals []os.Signal

// keepBrokenPipes does nothing: here they end no program.
func keepBrokenPipes() {}
