//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// restart replaces this process by the program on disk, with the same arguments. It returns if it fails, or if ctx has ended: this process
// was told to end. Whoever tells that from now on ends it at once. The new program ignores SIGHUP until it can reload.
func restart(ctx context.Context, program string) error {
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	if ctx.Err() != nil {
		return nil
	}
	signal.Ignore(syscall.SIGHUP)
	return fmt.Errorf("start %s in place of this process: %w", program, syscall.Exec(program, os.Args, os.Environ()))
}
