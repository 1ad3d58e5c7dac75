//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// restart replaces this process by the program on disk, with the same arguments. It returns only if it fails. The new program ignores
// SIGHUP until it can reload.
func restart(program string) error {
	signal.Ignore(syscall.SIGHUP)
	return fmt.Errorf("start %s in place of this process: %w", program, syscall.Exec(program, os.Args, os.Environ()))
}
