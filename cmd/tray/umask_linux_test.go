package main

import "syscall"

// The folders of tests are below others, of which an agent demands that nobody else may write there: so is its user's runtime folder.
func init() { syscall.Umask(0o022) }
