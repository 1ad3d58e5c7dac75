//go:build !unix

package main

import "os"

// reloadRequests is nil: this OS has no signal for it.
func reloadRequests() <-chan os.Signal { return nil }

// keepBrokenPipes does nothing: on this OS they kill no program.
func keepBrokenPipes() {}

// whenUnread does nothing: the next write will fail.
func whenUnread(*os.File, func()) {}
