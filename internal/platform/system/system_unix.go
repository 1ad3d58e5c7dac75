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

// Spawn is Exec: it is Windows that needs another word for a program that nobody waits for.
func Spawn(path string, args []string) error { return Exec(path, args) }

// Hide is for Windows, whose programs for consoles open one where there is none.
func Hide(*exec.Cmd) {}

// LoadDLLsOfSystemOnly is for Windows.
func LoadDLLsOfSystemOnly() {}

// Languages are none: the environment says which the user prefers.
func Languages() []string { return nil }
