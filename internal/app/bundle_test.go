package app

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/testlab"
)

// TestBundleMasksWhatHasGone: the timeline speaks of units that are no longer plugged in, also by names that udev has made of their serial
// numbers. The folder's name, of which a pattern could be made, keeps no log from the bundle.
func TestBundleMasksWhatHasGone(t *testing.T) {
	set := bareSettings(t)
	set.Config.Engine.RemovalGrace = 0
	folder := filepath.Join(t.TempDir(), "a[b")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, name := range []string{"agent.log", "agent-2026-01-01.log", "tray.log", "other.log"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("said of SN 42/7\n"), 0o600))
	}
	a := startApp(t, Options{Settings: set, LogFile: filepath.Join(folder, "agent.log")})
	mic := devices.Endpoint{
		ID: "alsa_input.usb-Acme_Headset_SN_42_7-00.mono", Type: devices.AudioInput, Name: "Acme Headset", Bus: devices.USB,
		VID: "1209", PID: "0700",
		Serial: "SN 42/7", Container: "usb:1", Mute: devices.True,
	}
	a.observe(devices.Observation{Source: "audio", Endpoints: []devices.Endpoint{mic}, At: time.Now()})
	require.Len(t, a.Devices().Reported, 1)
	a.hidEvent(hid.Event{Kind: hid.Attached, Node: "hidraw0", Device: &hid.Device{Node: "hidraw0", Serial: "HIDSERIAL"}, At: time.Now()})
	a.hidEvent(hid.Event{Kind: hid.Gone, Node: "hidraw0", Error: "HIDSERIAL is gone", At: time.Now()})
	a.observe(devices.Observation{Source: "audio", At: time.Now()})
	testlab.Eventually(t, "it has gone", func() bool { return len(a.Devices().Endpoints) == 0 })

	var archive bytes.Buffer
	require.NoError(t, a.Bundle(&archive))
	z, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	held := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		held[f.Name] = string(text)
		require.NotRegexp(t, "SN.42.7|HIDSERIAL", held[f.Name], f.Name)
	}
	require.Regexp(t, `Headset_SERIAL-\d-00`, held["timeline.json"])
	require.Regexp(t, `Headset_SERIAL-\d-00`, held[BundledReport])
	require.Contains(t, held, "agent.log")
	require.Contains(t, held, "agent-2026-01-01.log")
	require.Contains(t, held, "tray.log")
	require.NotContains(t, held, "other.log")
}

// TestSerialsAreBounded: whoever plugs in device after device fills no memory.
func TestSerialsAreBounded(t *testing.T) {
	var s serials
	for n := range maxSerials + 10 {
		s.add(string(rune('a' + n)))
	}
	s.add("")
	require.Len(t, s.all(), maxSerials)
	require.Equal(t, string(rune('a'+maxSerials+9)), s.all()[maxSerials-1])
}
