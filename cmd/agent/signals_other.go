//go:build !unix

package main

import "os"

// reloadRequests is rung when 'run' is to read its configuration again; this OS has no signal for it.
func reloadRequests() <-chan os.Signal { return nil }

// keepBrokenPipes does nothing: here they end no program.
func keepBrokenPipes() {}
