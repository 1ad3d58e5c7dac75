package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/testlab"
)

// TestCrashLoop kills the agent in several ways. Three crashes lead to safe mode; an end in order and kill -9 are none.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	state := t.TempDir()
	d.env = append(d.env, "XDG_STATE_HOME="+state)
	d.plugForTest(headset700)
	end := func(s syscall.Signal) {
		t.Helper()
		d.start()
		d.logged("full list sent")
		d.signal(s)
		<-d.ended
	}
	for range 3 {
		end(syscall.SIGKILL)
		end(syscall.SIGTERM)
		end(syscall.SIGQUIT)
	}
	d.start()
	require.Empty(t, d.crashes(state))
	d.signal(syscall.SIGKILL)
	<-d.ended
	for range 3 {
		end(syscall.SIGABRT)
	}
	d.start()
	d.logged("safe mode: no HID devices, no writes to devices, no miniaudio")
	d.logged("full list sent")
	require.Len(t, d.crashes(state), 3)
	out, _, _ := d.ask("status", "--json")
	var st struct {
		Conditions []health.Condition
		Sources    []struct{ Name string }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &st))
	require.Equal(t, health.AgentSafeMode, st.Conditions[0].Code)
	for _, s := range st.Sources {
		require.NotEqual(t, "hid", s.Name)
	}
	out, _, code := d.ask("doctor")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "runs in safe mode")
	out, errs, code := d.ask("bundle", filepath.Join(state, "b.zip"))
	require.Zero(t, code, errs)
	require.Contains(t, out, "--- crash-")
	require.Contains(t, out, "SIGABRT: abort\n")
	require.Contains(t, out, "goroutine ")
	d.signal(syscall.SIGTERM)
	d.exit()
	require.NoFileExists(t, filepath.Join(state, "sidetone", "acme", "crash-output.txt"))
}

// crashes are the reports in a state folder.
func (d *controlled) crashes(state string) []string {
	d.t.Helper()
	all, err := filepath.Glob(filepath.Join(state, "sidetone", "acme", "crash-[0-9]*.txt"))
	require.NoError(d.t, err)
	for _, path := range all {
		info, err := os.Stat(path)
		require.NoError(d.t, err)
		require.Equal(d.t, os.FileMode(0o600), info.Mode())
	}
	return all
}
