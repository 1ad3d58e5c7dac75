package testlab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
)

// Build builds a program of this module as it ships, with one difference: it reads neither settings nor policy of this machine's
// administrator. env is added to the environment of the Go command.
func Build(program, pkg string, env ...string) error {
	build := exec.Command("go", "build", "-ldflags=-X sidetone/internal/platform/paths.Etc=/nonexistent", "-o", program, pkg)
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("testlab: build %s: %w: %s", pkg, err, out)
	}
	return nil
}

// BuildUnraced builds the running test into a folder, without the race detector, which makes its processes five times as expensive. It
// returns the running program if that has no race detector, or the machine has no Go.
func BuildUnraced(folder string) (program string, err error) {
	info, ok := debug.ReadBuildInfo()
	raced := ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
	if _, err := exec.LookPath("go"); err != nil || !raced {
		return os.Executable()
	}
	program = filepath.Join(folder, "unraced.test")
	if out, err := exec.Command("go", "test", "-c", "-ldflags=-w", "-o", program, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("testlab: build the test without the race detector: %w: %s", err, out)
	}
	return program, nil
}
