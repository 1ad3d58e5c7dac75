//go:build !unix

package main

import "os"

// reloadRequests is nil: this OS has no signal for it.
func reloadRequests() <-chan os.Signal { return nil }

// handleBrokenPipes does nothing: on this OS they kill no program.
func handleBrokenPipes() {}

// onReaderGone does nothing: the next write will fail.
func onReaderGone(*os.File, func()) {}
