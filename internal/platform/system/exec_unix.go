//go:build linux || darwin

package system

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Exec lets another program take the place of this one. It returns only if that has failed.
func Exec(path string, args []string) error {
	if err := syscall.Exec(path, append([]string{path}, args...), os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// Hide is for Windows, whose programs for consoles open one where there is none.
func Hide(*exec.Cmd) {}
