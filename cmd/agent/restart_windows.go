package main

import (
	"fmt"
	"os"
	"os/exec"
)

// restart starts the program on disk with the arguments of this process, which is about to end.
func restart(program string) error {
	next := exec.Command(program, os.Args[1:]...) //nolint:noctx // it has to outlive this process
	next.Stdout, next.Stderr = os.Stdout, os.Stderr
	if err := next.Start(); err != nil {
		return fmt.Errorf("start %s in place of this process: %w", program, err)
	}
	return nil
}
