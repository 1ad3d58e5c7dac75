package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childEnv makes this test binary the demo itself.
const childEnv = "DEMO_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestDemoEndsEarly ends the demo as 'head' and Ctrl-C do. It must leave nothing behind.
func TestDemoEndsEarly(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		end  func(cmd *exec.Cmd, out *os.File) error
		said string
	}{
		"unread":      {func(_ *exec.Cmd, out *os.File) error { return out.Close() }, ""},
		"interrupted": {func(cmd *exec.Cmd, _ *os.File) error { return cmd.Process.Signal(os.Interrupt) }, "demo: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := os.MkdirTemp("", "demo") // a short path, for sockets in it
			require.NoError(t, err)
			defer os.RemoveAll(folder)
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			cmd := exec.CommandContext(t.Context(), self)
			cmd.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+folder, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=10")
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = w, &stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			require.NoError(t, r.SetReadDeadline(time.Now().Add(2*time.Minute)))
			for lines := bufio.NewScanner(r); ; {
				require.True(t, lines.Scan(), "%v", lines.Err())
				if strings.HasPrefix(lines.Text(), "2. ") {
					break
				}
			}
			require.NoError(t, c.end(cmd, r))
			_ = cmd.Wait()
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), stderr.String())
			require.Equal(t, c.said, stderr.String())
			left, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestTookInterrupt tells a program that Ctrl-C has ended from one that has failed.
func TestTookInterrupt(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, os.Interrupt) // what the shell of these tests ignores, as in the background, their children would ignore, too
	defer signal.Stop(caught)
	for script, want := range map[string]bool{"kill -INT $$": true, "kill -KILL $$": false, "exit 1": false} {
		err := exec.CommandContext(t.Context(), "sh", "-c", script).Run()
		require.Error(t, err)
		require.Equal(t, want, tookInterrupt(fmt.Errorf("step 1: %w", err)), script)
	}
}
