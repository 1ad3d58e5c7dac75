//go:build vmtest

package guest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// TestWithoutASoundServer: an agent that finds no trace of one lists what ALSA has, by name and USB device, and knows no flag. A sound
// server that comes after all lists instead.
func TestWithoutASoundServer(t *testing.T) {
	t.Cleanup(func() { restartAgent(t, exampleCatalogue) })
	folder := t.TempDir()
	t.Setenv("PULSE_RUNTIME_PATH", folder)
	t.Setenv("PIPEWIRE_RUNTIME_DIR", folder)
	t.Setenv("PULSE_CLIENTCONFIG", filepath.Join(folder, "client.conf"))
	d := plug(t, 0, headset())
	d.card()
	restartAgent(t, exampleCatalogue)
	const name = "Acme Headset 700, USB Audio" // of both: ALSA has no other
	list := []fakeserver.Device{
		{Type: fakeserver.AudioInput, ID: name, Vendor: acme, Model: headset700, Related: []string{}},
		{Type: fakeserver.AudioOutput, ID: name, Vendor: acme, Model: headset700, Related: []string{}},
	}
	expect(t, list...)
	require.Contains(t, run(t, "./sidetone", "status"), "ALSA lists the audio devices")

	d.unplug()
	expect(t)
	d.replug()
	expect(t, list...)

	require.NoError(t, os.Symlink(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "pulse/native"), filepath.Join(folder, "native")))
	expect(t, d.asHeadset(false, false)...)
	require.NotContains(t, run(t, "./sidetone", "status"), "ALSA lists the audio devices")
}
