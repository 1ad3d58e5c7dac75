package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// restart starts the program on disk with the arguments of this process, which is about to end, unless ctx has ended: this process was
// told to end.
func restart(ctx context.Context, program string) error {
	if ctx.Err() != nil {
		return nil
	}
	next := exec.Command(program, os.Args[1:]...) //nolint:noctx // it has to outlive this process
	next.Stdout, next.Stderr = os.Stdout, os.Stderr
	if err := next.Start(); err != nil {
		return fmt.Errorf("start %s in place of this process: %w", program, err)
	}
	return nil
}
