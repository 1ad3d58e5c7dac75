package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/config"
	"sidetone/internal/testlab"
)

// TestJournal: journald learns the level of each line.
func TestJournal(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	out := &prioritized{Writer: &text}
	log := slog.New(journal{logger(out, config.Log{Format: config.LogText}, slog.LevelDebug).Handler(), out}).With("a", 1)
	log.Debug("one")
	log.Info("two")
	log.WithGroup("g").Warn("three", "b", 2)
	log.Error("four")
	var lines []string
	for line := range strings.Lines(text.String()) {
		lines = append(lines, line[:3]+line[strings.Index(line, " "):])
	}
	require.Equal(t, []string{
		"<7> level=DEBUG msg=one a=1\n", "<6> level=INFO msg=two a=1\n", "<4> level=WARN msg=three a=1 g.b=2\n", "<3> level=ERROR msg=four a=1\n",
	}, lines)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	info, err := w.Stat()
	require.NoError(t, err)
	st := info.Sys().(*syscall.Stat_t)
	require.True(t, isJournal(w, fmt.Sprintf("%d:%d", st.Dev, st.Ino)))
	require.False(t, isJournal(w, fmt.Sprintf("%d:%d", st.Dev, st.Ino+1)), "it was inherited from another program")
	require.False(t, isJournal(w, ""))
	require.False(t, isTerminal(w))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	require.False(t, isTerminal(null))
}

// TestLogThatNobodyReads, on standard error and in the file: a mute still gets to the client, and so does its end.
func TestLogThatNobodyReads(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	state, endpoints := t.TempDir(), filepath.Join(t.TempDir(), "endpoints.yaml")
	plugged := []byte(`{"endpoints": [{"id": "mic", "type": "audioinput", "name": "Acme 700 Mono", "bus": "usb", "vid": "1209", "pid": "0700"}]}`)
	require.NoError(t, os.WriteFile(endpoints, plugged, 0o600))
	d.env = append(d.env, "XDG_STATE_HOME="+state, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false",
		"SIDETONE_SOURCES_FILES="+endpoints)
	folder := filepath.Join(state, "sidetone", "acme")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "agent.log"), 0o600))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	fillPipe(t, w)
	d.output = w
	d.start()
	d.has("the microphone", func(list []fakeserver.Device) bool { return len(list) == 1 })
	d.pushMute()
	d.hasMute(true)
	require.NoError(t, os.WriteFile(endpoints, []byte("endpoints: []"), 0o600)) // its end is a line of the Engine
	d.hasNone()
	require.NoError(t, os.WriteFile(endpoints, plugged, 0o600))
	d.has("the microphone", func(list []fakeserver.Device) bool { return len(list) == 1 })
	d.signal(syscall.SIGTERM)
	d.exit()
	d.hasNone()
}

// fillPipe fills a pipe.
func fillPipe(t *testing.T, w *os.File) {
	t.Helper()
	raw, err := w.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Write(func(fd uintptr) bool {
		for err == nil {
			_, err = syscall.Write(int(fd), make([]byte, 1<<10))
		}
		return true
	}))
	require.ErrorIs(t, err, syscall.EAGAIN)
}

// TestLogFile: where neither a terminal nor the journal keeps the log a file does, for this user alone, and the bundle holds it.
func TestLogFile(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	state := t.TempDir()
	d.env = append(d.env, "XDG_STATE_HOME="+state, "SIDETONE_SOURCES_AUDIO=false")
	d.start()
	d.logged("full list sent")
	path := filepath.Join(state, "sidetone", "acme", "agent.log")
	testlab.Eventually(t, "the file has the line, which is written to it after standard error", func() bool {
		return strings.Contains(read(t, path), "full list sent")
	})
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	info, err = os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	out, errs, code := d.ask("bundle", filepath.Join(state, "b.zip"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "--- agent.log\n")
	out, _, _ = d.ask("status", "--json")
	require.Contains(t, out, `"log_file": "`+path+`"`)
	d.signal(syscall.SIGTERM)
	d.exit()
}
