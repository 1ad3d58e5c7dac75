//go:build linux || darwin

package system

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Exec replaces this process with another program. It returns only if that has failed.
func Exec(path string, args []string) error {
	if err := syscall.Exec(path, append([]string{path}, args...), os.Environ()); err != nil {
		return fmt.Errorf("start %s: %w", path, err)
	}
	return nil
}

// Spawn is Exec; only Windows distinguishes the two.
func Spawn(path string, args []string) error { return Exec(path, args) }

// Hide does nothing. On Windows a console program opens a console if there is none.
func Hide(*exec.Cmd) {}

// LoadDLLsOfSystemOnly does nothing: DLLs exist on Windows.
func LoadDLLsOfSystemOnly() {}

// Languages returns nil: the environment has the user's preferences.
func Languages() []string { return nil }
