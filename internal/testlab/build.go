package testlab

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// noMachine makes a program look for nothing in the folders of this machine's administrator.
const noMachine = "-X sidetone/internal/platform/paths.Etc=/nonexistent -X sidetone/internal/platform/paths.Run=/nonexistent"

// Build builds a program of this module as it ships, with one difference: it reads neither settings nor policy of this machine's
// administrator, and knows no server of all users. env is added to the environment of the Go command.
func Build(program, pkg string, env ...string) error {
	source, err := filepath.Abs(pkg)
	if err != nil {
		return err
	}
	kept, err := keptBuild(append(env, source), func(out string) *exec.Cmd {
		build := exec.Command("go", "build", "-ldflags="+noMachine, "-o", out, pkg)
		build.Env = append(os.Environ(), env...)
		return build
	})
	if err != nil {
		return fmt.Errorf("testlab: build %s: %w", pkg, err)
	}
	return copyProgram(program, kept)
}

// BuildUnraced builds the running test into a folder, without the race detector, which makes its processes five times as expensive. It
// returns the running program if that has no race detector, or the machine has no Go.
func BuildUnraced(folder string) (program string, err error) {
	kept, err := unraced()
	if self, selfErr := os.Executable(); err != nil || selfErr != nil || kept == self {
		return kept, errors.Join(err, selfErr)
	}
	program = filepath.Join(folder, "unraced.test")
	return program, copyProgram(program, kept)
}

// unraced is the program of BuildUnraced where it is kept.
var unraced = sync.OnceValues(func() (program string, err error) {
	if _, err := exec.LookPath("go"); err != nil || !raced() {
		return os.Executable()
	}
	folder, err := os.Getwd() // that of the package
	if err != nil {
		return "", err
	}
	program, err = keptBuild([]string{"test", folder}, func(out string) *exec.Cmd {
		return exec.Command("go", "test", "-c", "-ldflags=-w", "-o", out, ".")
	})
	if err != nil {
		return "", fmt.Errorf("testlab: build the test without the race detector: %w", err)
	}
	return program, nil
})

// raced reports whether this program has the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// unracedEnv tells a process of RanUnraced that it is one.
const unracedEnv = "SIDETONE_TEST_UNRACED"

// RanUnraced runs a test or subtest to its end in a process of the same test that is built without the race detector, and reports whether
// it did. If so, the caller returns. It is for the further cases of a test of which some run with the race detector, and for tests of
// what has one goroutine only. Where there is no race detector, or no Go, it reports false.
func RanUnraced(t *testing.T) bool {
	t.Helper()
	if os.Getenv(unracedEnv) != "" {
		return false
	}
	program, err := unraced()
	if err != nil {
		t.Fatal(err)
	}
	if self, err := os.Executable(); err != nil {
		t.Fatal(err)
	} else if program == self {
		return false
	}
	elements := strings.Split(t.Name(), "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	args := []string{"-test.v", "-test.count=1", "-test.run=" + strings.Join(elements, "/")}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") || f.Name == "test.timeout" || f.Name == "test.short" {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), unracedEnv+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("without the race detector: %v\n%s", err, out)
	}
	switch end := " " + t.Name() + " ("; {
	case bytes.Contains(out, []byte("--- SKIP:"+end)):
		t.Skipf("without the race detector:\n%s", out)
	case !bytes.Contains(out, []byte("--- PASS:"+end)):
		t.Fatalf("without the race detector it does not run:\n%s", out)
	case bytes.Contains(out, []byte("--- SKIP:")):
		t.Logf("without the race detector, with a subtest that was skipped:\n%s", out)
	}
	return true
}

// keptBuild runs a command that builds a program to a given path, and returns the place beside the build cache's files where it is kept. Go
// links only what is not up to date: that is once for all tests, and for all runs between two changes. The key says which program it is.
func keptBuild(key []string, command func(out string) *exec.Cmd) (program string, err error) {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return "", fmt.Errorf("where the build cache is: %w", err)
	}
	for _, name := range []string{"CGO_ENABLED", "GOFLAGS", "GOOS", "GOARCH"} {
		key = append(key, name+"="+os.Getenv(name))
	}
	folder := filepath.Join(strings.TrimSpace(string(cache)), "sidetone-test")
	program = filepath.Join(folder, fmt.Sprintf("%x.exe", sha256.Sum256([]byte(strings.Join(key, "\x00")))))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	own, err := os.MkdirTemp(folder, "build") // other processes do the same
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(own)
	out := filepath.Join(own, "program.exe")
	if err := copyProgram(out, program); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if said, err := command(out).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return program, os.Rename(out, program)
}

// copyProgram copies a program. No child may be started meanwhile: until it has become another program it would have the file open for
// writing, and what is open so is not executed.
func copyProgram(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, text, 0o755)
}
