package main

import (
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestPause pauses reporting in each way, over restarts, in a headset's mute.
func TestPause(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	state := t.TempDir()
	d.env = append(d.env, "XDG_STATE_HOME="+state)
	hs := d.plugForTest(headset700)
	d.mute(hs, true)
	d.start()
	muted, unmuted := pair("Acme Headset 700", true), pair("Acme Headset 700", false)
	d.hasList(muted...)
	do := func(says string, args ...string) {
		t.Helper()
		out, errs, code := d.ask(args...)
		require.Zero(t, code, errs)
		require.Contains(t, out, says)
	}
	restart := func() {
		t.Helper()
		d.signal(syscall.SIGTERM)
		d.exit()
		d.start()
		d.logged("full list sent")
	}

	do("paused until 'sidetone resume'; clients have no devices", "pause")
	d.hasNone()
	do("reporting is paused until 'sidetone resume'", "status")
	out, _, code := d.ask("doctor")
	require.Equal(t, exitOK, code, out)
	require.Contains(t, out, "Reporting is paused, so clients are not told whether a microphone is muted.")
	d.mute(hs, false)
	testlab.Eventually(t, "the status goes on to say what is known", func() bool {
		out, _, _ := d.ask("status")
		return regexp.MustCompile(`hardware_mute +false`).MatchString(out)
	})
	restart()
	d.hasNone()
	do("", "resume")
	d.hasList(unmuted...)

	do("paused until 20", "pause", "--for", "1h")
	do("paused until 20", "pause", "--for", "2s") // in its place
	d.logged("reporting goes on")
	d.hasList(unmuted...)
	d.mute(hs, true)
	d.hasList(muted...)
	do("", "pause", "--for", "1ms")
	d.signal(syscall.SIGKILL)
	<-d.ended
	d.start()
	d.logged("full list sent")
	d.hasList(muted...) // it is over

	kept := filepath.Join(state, "sidetone", "acme", "pause.json")
	do("", "pause")
	info, err := os.Stat(kept)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	d.hasNone()
	d.signal(syscall.SIGTERM)
	d.exit()
	require.NoError(t, os.WriteFile(kept, []byte("{"), 0o600))
	d.start()
	d.logged("a pause is not kept up")
	d.logged("full list sent")
	d.hasList(muted...)
	for _, bad := range [][]string{{"--until-login"}, {"--for", "-1s"}, {"--for", "1000h"}} {
		_, errs, code := d.ask(append([]string{"pause"}, bad...)...)
		require.Equal(t, exitBadInput, code, errs)
	}
}

// TestPauseUnmuted: with that setting clients keep the devices, and know nothing of their mute.
func TestPauseUnmuted(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.env = append(d.env, "SIDETONE_PAUSE_LIST=unmuted")
	hs := d.plugForTest(headset700)
	d.mute(hs, true)
	d.start()
	d.hasList(pair("Acme Headset 700", true)...)
	_, errs, code := d.ask("pause")
	require.Zero(t, code, errs)
	want := pair("Acme Headset 700", true)
	for i := range want {
		want[i].HardwareMute = nil
	}
	d.hasList(want...)
}
