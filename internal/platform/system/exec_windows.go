package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Exec lets another program take the place of this one: it waits for that, and ends as that has ended. It returns only if that has failed.
func Exec(path string, args []string) error {
	cmd := exec.Command(path, args...) //nolint:noctx // it lives as long as this program
	Hide(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
	return nil
}

// Spawn starts another program in place of this one, which is to end then: nobody waits for it.
func Spawn(path string, args []string) error {
	cmd := exec.Command(path, args...) //nolint:noctx // it outlives this program
	Hide(cmd)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// Hide keeps a program that is one for consoles from opening one, where this program has none.
func Hide(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true} }
