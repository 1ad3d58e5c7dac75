package testlab

import (
	"fmt"
	"os"
	"os/exec"
)

// Build builds a program of this module as it ships, but for one thing: it reads neither settings nor policy of this machine's
// administrator. env is set for the Go command.
func Build(program, pkg string, env ...string) error {
	build := exec.Command("go", "build", "-ldflags=-X sidetone/internal/platform/paths.Etc=/nonexistent", "-o", program, pkg)
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("testlab: build %s: %w: %s", pkg, err, out)
	}
	return nil
}
