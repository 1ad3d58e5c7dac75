//go:build !unix

package main

import "os"

// whenUnread does nothing: the next line will fail.
func whenUnread(*os.File, func()) {}
