package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// readers are the files of internal that may read the environment themselves.
var readers = []string{
	"testlab/build.go", "testlab/sound.go", "testlab/soundservers.go", "platform/power/resume_linux.go", "platform/system/system_unix.go",
	"health/healthtest/healthtest.go", "platform/windows/broadcast/broadcasttest/broadcasttest_windows.go",
	"testlab/standin/devices_windows.go", "supervise/process_windows.go", "platform/platformtest/namespace_linux.go",
}

// ports matches the clients' ports, which only the settings may name.
var ports = regexp.MustCompile(`\b64(6[3-9]|7[0-3])\b`)

var environment = regexp.MustCompile(`\bos\.(Getenv|LookupEnv|Environ|ExpandEnv|UserHomeDir|UserConfigDir|UserCacheDir)\b`)

// TestNothingFindsTheUserByItself keeps tests from reaching what they did not make: packages are told by their
// callers where everything is.
func TestNothingFindsTheUserByItself(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		name := strings.TrimPrefix(filepath.ToSlash(path), "../")
		for n, line := range strings.Split(string(text), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if !slices.Contains(readers, name) {
				require.NotRegexp(t, environment, code, "%s:%d", name, n+1)
			}
			if folder := filepath.Dir(name); folder != "config" && folder != "world" { // the ports of a world are in memory
				require.NotRegexp(t, ports, code, "%s:%d", name, n+1)
			}
		}
		return err
	})
	require.NoError(t, err)
}
