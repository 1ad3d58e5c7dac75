//go:build !unix

package main

import "os"

// reloadRequests is nil: this OS has no signal for it.
func reloadRequests() <-chan os.Signal { return nil }

// keepBrokenPipes does nothing: here they end no program.
func keepBrokenPipes() {}

// whenUnread does nothing: the next write will fail.
func whenUnread(*os.File, func()) {}
