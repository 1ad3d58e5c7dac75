package app

import (
	"archive/zip"
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/timeline"
)

// TestMask: a serial number that begins with another must not be left half in the open.
func TestMask(t *testing.T) {
	m := newMask(Host{Getenv: func(string) string { return "" }})
	for _, s := range []string{"A1", "A12", "A12-7", "A1", "", "7"} {
		m.serial(s)
	}
	masked := m.apply("A12-7, A12, A1 and 7")
	require.NotContains(t, masked, "A1")
	require.Regexp(t, `^SERIAL-\d, SERIAL-\d, SERIAL-\d and 7$`, masked)
	require.Equal(t, m.apply("A1"), m.apply("A1"))
	require.NotEqual(t, m.apply("A1"), m.apply("A12"))
}

// TestMaskOfThePerson: the user's name is masked wherever it is a word, and is no part of another one.
func TestMaskOfThePerson(t *testing.T) {
	m := newMask(Host{Getenv: func(string) string { return "" }})
	m.names = map[string]string{"/home/anna": home, `C:\Users\Anna`: home, "anna": userName, "savannah-7": "SERIAL-1", "an": "SERIAL-2"}
	for text, want := range map[string]string{
		"anna":                               "USER",
		"savannah, annabel, anna2, Ωanna":    "savSERIAL-2nah, SERIAL-2nabel, SERIAL-2na2, ΩSERIAL-2na",
		"savannah-7":                         "SERIAL-1",
		"/home/anna":                         "HOME",
		"file:///home/anna/x, /home/annabel": "file://HOME/x, /home/SERIAL-2nabel",
		`C:\Users\Anna\AppData`:              `HOME\AppData`,
		"/media/anna/disk, user=anna@host":   "/media/USER/disk, user=USER@host",
		"run_anna-1 anna's \"anna\"":         "run_USER-1 USER's \"USER\"",
		`a\nanna\x20anna\u0020anna%2Fanna%`:  `a\nUSER\x20USER\u0020USER%2FUSER%`,
	} {
		require.Equal(t, want, m.apply(text), text)
	}
}

// TestMaskOfAddresses: a Bluetooth address says whose headset it is, however it is written.
func TestMaskOfAddresses(t *testing.T) {
	m := newMask(Host{Getenv: func(string) string { return "" }})
	m.serial("AC:BF:71:00:11:22")
	masked := m.apply(`bluez_input.AC_BF_71_00_11_22.0 and ac:bf:71:00:11:22, beside 00-1A-7D-DA-71-13 at 12:34:56 on 2026-01-02`)
	require.Equal(t, `bluez_input.ADDRESS-1.0 and ADDRESS-1, beside ADDRESS-2 at 12:34:56 on 2026-01-02`, masked)
}

// TestMaskedReport: no serial number is in the page of a bundle, however HTML writes it, and one that is a part of a time or a number
// does no harm.
func TestMaskedReport(t *testing.T) {
	m := newMask(Host{Getenv: func(string) string { return "" }})
	for _, s := range []string{"20", "<A&1>", "00:1A:7D:DA:71:13"} {
		m.serial(s)
	}
	now := time.Date(2026, 3, 20, 20, 20, 20, 0, time.Local)
	status := control.Status{Started: now, Generation: 2020, Products: []control.Product{{Name: "Acme 700", Devices: []control.Device{
		{Type: devices.AudioInput, ID: "usb-<A&1>", Flags: map[devices.Field]devices.Flag{devices.HardwareMute: {
			Value: devices.True,
			Since: now,
		}}},
		{Type: devices.AudioOutput, ID: "bluez_output.00_1A_7D_DA_71_13"},
	}}}}
	lane := timeline.Lane{
		Subject: timeline.Subject{Kind: timeline.KindFlag, Device: "usb-<A&1>", Flag: devices.HardwareMute},
		Changes: []timeline.Change{
			{At: now, To: timeline.True, Origin: &devices.Origin{Via: devices.ViaHIDReport, Detail: "<A&1>"}},
		},
	}
	page, err := maskedReport(m, status, timeline.Timeline{From: now, To: now.Add(time.Hour), Lanes: []timeline.Lane{lane}})
	require.NoError(t, err)
	require.NotContains(t, string(page), "A&amp;1")
	require.NotContains(t, string(page), "1A_7D")
	require.Regexp(t, `(?s)usb-SERIAL-\d.*bluez_output.ADDRESS-1`, string(page))
	require.Contains(t, string(page), `datetime="`+now.Format(time.RFC3339)+`"`)
}

// TestLogTail keeps the newest lines.
func TestLogTail(t *testing.T) {
	var tail logTail
	log := tail.attach(slog.New(slog.DiscardHandler), slog.LevelInfo)
	for n := range 5000 {
		log.Info("a change", "number", n)
	}
	text := tail.String()
	require.LessOrEqual(t, len(text), tailBytes)
	require.Greater(t, len(text), tailBytes-100)
	require.True(t, strings.HasPrefix(text, "time="), "whole lines")
	require.True(t, strings.HasSuffix(text, "number=4999\n"))
}

// TestBundleHasTimes: an archive without them shows files of 1980.
func TestBundleHasTimes(t *testing.T) {
	var archive bytes.Buffer
	b := bundle{Writer: zip.NewWriter(&archive)}
	b.store("status.json", "{}")
	require.NoError(t, b.err)
	require.NoError(t, b.Close())
	r, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), r.File[0].Modified, time.Hour)
}
