package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDevicesOfAHostileFile: an endpoint file may come from anybody.
func TestDevicesOfAHostileFile(t *testing.T) {
	t.Parallel()
	file := write(t, "endpoints.json", `{"endpoints": [
		{"id": "mic\u001b[31m", "type": "audioinput", "name": "Evil\u001b]0;owned\u0007\nreported, in this order: 9", "bus": "usb", "vid": "1209", "pid": "0700", "serial": "S\u001b[1m"}]}`)
	o := sidetone(t, nil, "devices", "--sources-audio=false", "--sources-camera=false", "--sources-files", file, "--catalogue", acme(t, "schema: 1", "schema: 1"))
	require.Equal(t, exitOK, o.code, o.stderr)
	require.NotContains(t, o.stdout, "\x1b")
	require.NotContains(t, o.stdout, "\a")
	require.Equal(t, 1, strings.Count(o.stdout, "\nreported, in this order"))
	require.Regexp(t, `source file:\S+ 1 endpoint\n`, o.stdout)
}

// TestDevicesOfUnknownFlags: a flag that has sources is told from one that has none.
func TestDevicesOfUnknownFlags(t *testing.T) {
	t.Parallel()
	file := write(t, "endpoints.json", `{"endpoints": [
		{"id": "mic", "type": "audioinput", "name": "Acme", "bus": "usb", "vid": "1209", "pid": "0700"},
		{"id": "cam", "type": "audioinput", "name": "Cam", "bus": "usb", "vid": "1209", "pid": "0720"}]}`)
	o := sidetone(t, nil, "devices", "--sources-audio=false", "--sources-camera=false", "--sources-files", file, "--catalogue", acme(t, "schema: 1", "schema: 1"))
	require.Equal(t, exitOK, o.code, o.stderr)
	headset, webcam, _ := strings.Cut(o.stdout, "\n2. ")
	require.Regexp(t, `hardware_mute +unknown +not sent: no source knows\n`, headset)
	require.Regexp(t, `hardware_mute +unknown +not sent: no source\n`, webcam)
}
