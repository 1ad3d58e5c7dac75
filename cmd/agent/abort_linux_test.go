package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mkfifo(t *testing.T) string {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	return fifo
}

// TestReadingCanBeEnded has programs that wait for more of their input, which never comes, and are told to stop.
func TestReadingCanBeEnded(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for name, args := range map[string][]string{
			"replay a pipe": {"replay"}, "learn from a pipe": {"learn", "--from"}, "replay standard input": {"replay", "-"},
		} {
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				fifo := mkfifo(t)
				if name != "replay standard input" {
					args = append(args[:len(args):len(args)], fifo)
				}
				cmd := child(t, privateEnv(t, nil), args...)
				remarks := newLines()
				cmd.Stderr = remarks
				var input io.WriteCloser
				stdin, err := cmd.StdinPipe()
				require.NoError(t, err)
				defer stdin.Close()
				require.NoError(t, cmd.Start())
				input = stdin
				if args[len(args)-1] == fifo {
					input, err = os.OpenFile(fifo, os.O_WRONLY, 0)
					require.NoError(t, err)
					defer input.Close()
				}
				// More than fits into a pipe: when all is written, it is being read.
				_, err = input.Write(bytes.Repeat([]byte("\n"), 200_000))
				require.NoError(t, err)
				require.NoError(t, cmd.Process.Signal(signal))
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-ended:
				case <-time.After(patience):
					_ = cmd.Process.Kill()
					<-ended
					require.FailNow(t, "it goes on")
				}
				require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
				all, _ := remarks.snapshot()
				require.Equal(t, []string{"sidetone: interrupted"}, all)
			})
		}
	}
}

// TestOpeningCanBeEnded has a pipe into which nobody writes: to open it takes for ever.
func TestOpeningCanBeEnded(t *testing.T) {
	t.Parallel()
	fifo := mkfifo(t)
	ctx, stop := context.WithCancel(t.Context())
	file, err := openInterruptible(ctx, fifo)
	require.NoError(t, err)
	stop()
	_, err = io.ReadAll(file)
	require.ErrorIs(t, err, errInterrupted)
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // lets go what hangs
	require.NoError(t, err)
	require.NoError(t, writer.Close())
}
