package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answering are verbs that print an answer, most of them without a look at what becomes of it.
var answering = []string{
	"version", "--version", "--help", "completion bash", "devices --sources-audio=false --sources-camera=false",
	"catalogue check " + exampleCatalogue, "catalogue test " + exampleCatalogue, "catalogue udev " + exampleCatalogue,
	"replay --catalogue " + exampleCatalogue + " " + exampleTrace, "config show",
}

func TestAnswerToAFullDisk(t *testing.T) {
	for _, args := range answering {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			require.NoError(t, err)
			defer full.Close()
			require.Equal(t, output{exitFailed, "", "sidetone: cannot write the answer: no space left on device\n"}, answerTo(t, full, args))
		})
	}
}

func TestAnswerToNobody(t *testing.T) {
	for _, args := range answering {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			require.NoError(t, r.Close())
			require.Equal(t, output{exitFailed, "", ""}, answerTo(t, w, args))
		})
	}
}

// answerTo runs a verb whose standard output is a file.
func answerTo(t *testing.T, file *os.File, args string) output {
	t.Helper()
	cmd := child(t, privateEnv(t, nil), strings.Fields(args)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = file, &stderr
	_ = cmd.Run()
	return output{cmd.ProcessState.ExitCode(), "", stderr.String()}
}

// TestDemoEndsEarly ends the demo as 'head' and Ctrl-C do. It must leave nothing behind.
func TestDemoEndsEarly(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(cmd *exec.Cmd, out *os.File) error
		said string
	}{
		"unread":      {func(_ *exec.Cmd, out *os.File) error { return out.Close() }, ""},
		"interrupted": {func(cmd *exec.Cmd, _ *os.File) error { return cmd.Process.Signal(os.Interrupt) }, "sidetone: interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := os.MkdirTemp("", "demo") // a short path, for sockets in it
			require.NoError(t, err)
			defer os.RemoveAll(folder)
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			cmd := child(t, privateEnv(t, nil, "TMPDIR="+folder), "demo")
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = w, &stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			require.NoError(t, r.SetReadDeadline(time.Now().Add(patience)))
			for lines := bufio.NewScanner(r); ; {
				require.True(t, lines.Scan(), "%v", lines.Err())
				if strings.HasPrefix(lines.Text(), "2. ") {
					break
				}
			}
			require.NoError(t, c.end(cmd, r))
			_ = cmd.Wait()
			require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), stderr.String())
			require.Equal(t, c.said, stderr.String())
			left, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestTookInterrupt tells a program that Ctrl-C has ended from one that has failed.
func TestTookInterrupt(t *testing.T) {
	for script, want := range map[string]bool{"kill -INT $$": true, "kill -KILL $$": false, "exit 1": false} {
		err := exec.CommandContext(t.Context(), "sh", "-c", script).Run()
		require.Error(t, err)
		require.Equal(t, want, tookInterrupt(fmt.Errorf("step 1: %w", err)), script)
	}
}
