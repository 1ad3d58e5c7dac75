package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/brand"
	"sidetone/internal/platform/paths"
	"sidetone/internal/supervise"
)

// panicEnv has the agent of a test crash when one of two events is set: by a panic with words that name a person, or by a fault in foreign
// code. It is what the events' names begin with.
const panicEnv = "AGENT_TEST_PANIC"

// crashes are what the names end with.
var crashes = []string{"-panic", "-fault"}

func init() {
	name := os.Getenv(panicEnv)
	if name == "" {
		return
	}
	var events []windows.Handle
	for _, how := range crashes {
		name16, err := windows.UTF16PtrFromString(name + how)
		if err != nil {
			panic(err)
		}
		event, err := windows.OpenEvent(windows.SYNCHRONIZE, false, name16)
		if err != nil {
			panic(err)
		}
		events = append(events, event)
	}
	go func() {
		which, err := windows.WaitForMultipleObjects(events, false, windows.INFINITE)
		if err == nil && crashes[which] == "-fault" {
			_, _, _ = windows.NewLazySystemDLL("msvcrt.dll").NewProc("strlen").Call(1)
		}
		panic("cannot read Anna's Headset\nof C:\\users\\anna")
	}()
}

// crashEvents makes the events of agents that are started from now on.
func crashEvents(t *testing.T) (events []windows.Handle) {
	t.Helper()
	name := fmt.Sprintf("sidetone-test-crash-%d", os.Getpid())
	t.Setenv(panicEnv, name)
	for _, how := range crashes {
		name16, err := windows.UTF16PtrFromString(name + how)
		require.NoError(t, err)
		event, err := windows.CreateEvent(nil, 0, 0, name16)
		require.NoError(t, err)
		t.Cleanup(func() { _ = windows.CloseHandle(event) })
		events = append(events, event)
	}
	return events
}

// TestCrashesOnWindows: what keeps the agent running at log-in starts it again after each crash. Each leaves a report, that of a panic with
// the stacks, three lead to safe mode, and an agent that is stopped stays so.
func TestCrashesOnWindows(t *testing.T) {
	d := newWinDesk(t)
	events := crashEvents(t)
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SIDETONE_") {
			t.Setenv(name, value) // as it is now, after the test
			require.NoError(t, os.Unsetenv(name))
		}
	}
	for _, kv := range d.env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	folder, err := paths.StateFolder(os.Getenv, brand.Unbranded, "acme")
	require.NoError(t, err)
	reports := func() []string {
		all, err := filepath.Glob(filepath.Join(folder, "crash-[0-9]*.txt"))
		require.NoError(t, err)
		return all
	}
	before := len(reports())
	t.Cleanup(func() {
		if t.Failed() {
			text, _ := os.ReadFile(filepath.Join(folder, paths.LogName))
			t.Logf("the agent's log:\n%s", text)
		}
	})
	t.Cleanup(func() { // else the agents of other tests would be in safe mode
		for _, report := range reports() {
			require.NoError(t, os.Remove(report))
		}
	})
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	down, done := make(chan int, 1), make(chan struct{})
	host := supervise.Supervisor{
		Machine: supervise.OwnSession{Program: supervise.Program{Path: self, Args: []string{"run", "--vendor=acme"}}},
		Log:     slog.New(slog.NewTextHandler(t.Output(), nil)),
		Down:    func(_ supervise.Session, code int) { down <- code },
	}
	go func() {
		defer close(done)
		host.Run(ctx, nil)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	answers := func(without int) (pid int) {
		t.Helper()
		require.Eventually(t, func() bool {
			pid = 0
			if runToEnd(t, child(t, d.env, "status", "--json")).code == exitOK {
				pid = d.pid()
			}
			return pid != 0 && pid != without
		}, patience, 100*time.Millisecond)
		return pid
	}
	pid := answers(0)
	for n := range 3 {
		require.NoError(t, windows.SetEvent(events[n%2])) // a panic, a fault, a panic
		pid = answers(pid)
		require.Len(t, reports(), before+n+1)
	}
	require.Contains(t, d.ask("status", "--json").stdout, `"agent.safe_mode"`)
	for n, report := range reports()[before:] {
		text, err := os.ReadFile(report)
		require.NoError(t, err)
		if n == 1 {
			require.Contains(t, string(text), "Exception 0xc0000005") // Wine lets the runtime write no more
			continue
		}
		require.Contains(t, string(text), "panic: (its words are left out)\n")
		require.Regexp(t, regexp.MustCompile(`(?s)goroutine .*crash_windows_test\.go`), string(text))
		require.NotContains(t, string(text), "nna")
	}
	zip := filepath.Join(t.TempDir(), "b.zip")
	require.Contains(t, d.ask("bundle", zip).stdout, "--- crash-")
	d.ask("stop")
	require.Equal(t, exitOK, <-down, "nobody starts it again")
}
