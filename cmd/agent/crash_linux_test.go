package main

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/testlab"
)

// panicEnv has the agent of a test panic at SIGUSR1, with words that name a person.
const panicEnv = "AGENT_TEST_PANIC"

func init() {
	if os.Getenv(panicEnv) == "" {
		return
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	go func() {
		<-c
		panic("cannot read Anna's Headset\nof /home/anna")
	}()
}

// TestPanics has the running agent panic. Each leaves a report with the stacks and without the names, and three lead to safe mode, of
// which 'service status' knows.
func TestPanics(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	state := t.TempDir()
	d.env = append(d.env, "XDG_STATE_HOME="+state, "SIDETONE_SOURCES_AUDIO=false", panicEnv+"=1")
	service := func() (st serviceStatus, text string) {
		for _, as := range []string{"--json=true", "--json=false"} {
			o := sidetone(t, []string{d.setting(), "XDG_STATE_HOME=" + state}, "service", "status", as)
			if json.Unmarshal([]byte(o.stdout), &st) != nil {
				text = o.stdout
			}
		}
		return st, text
	}
	for n := range 3 {
		d.start()
		d.logged("full list sent")
		require.Len(t, d.crashes(state), n)
		st, text := service()
		require.True(t, st.Running)
		require.False(t, st.SafeMode)
		require.Equal(t, n > 0, st.LastCrash != nil)
		require.NotContains(t, text, "safe mode")
		d.signal(syscall.SIGUSR1)
		<-d.ended
	}
	d.start()
	d.logged("safe mode: no HID devices, no writes to devices, no miniaudio")
	reports := d.crashes(state)
	require.Len(t, reports, 3)
	for _, path := range reports {
		text := read(t, path)
		require.Contains(t, text, "panic: (its words are left out)\n")
		require.Contains(t, text, "goroutine ")
		require.Contains(t, text, "crash_linux_test.go")
		require.NotContains(t, text, "nna")
	}
	st, text := service()
	require.True(t, st.SafeMode)
	require.Equal(t, reports[2], st.LastCrash.Report)
	require.WithinDuration(t, time.Now(), st.LastCrash.Time, testLimit)
	require.Regexp(t, `runs +as process .*, in safe mode`, text)
	require.Regexp(t, `last crash +(\d+m)?\d+s ago: `+regexp.QuoteMeta(reports[2]), text)
	d.signal(syscall.SIGTERM)
	d.exit()
}

// TestCrashLoop kills the agent in several ways. Three crashes lead to safe mode; an end in order and kill -9 are none.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.raceDetector = false // but for safe mode, below: it starts 14 times
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
	d.raceDetector = true
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
	healthtest.Raised(t, st.Conditions[0])
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
