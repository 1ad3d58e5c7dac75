//go:build vmtest

package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
	"sidetone/tools/fakeusb"
)

// What the kernel calls the controls of the headset's microphone.
const (
	muteSwitch    = "Mic Capture Switch"
	gainSwitch    = "Auto Gain Control"
	oddFeature    = "Capture Volume"
	oddMuteSwitch = "Capture Volume Capture Switch"
)

func headset() fakeusb.Spec {
	return fakeusb.Spec{
		Kind: "headset", ID: "1209:0700", Manufacturer: "Acme", Name: "Acme Headset 700", Serial: serial(), GainControl: true,
	}
}

func TestHeadsetComesAndGoes(t *testing.T) {
	d := plug(t, 0, headset())
	c := d.card()

	id, err := os.ReadFile(filepath.Join("/proc/asound/card"+c.number, "usbid"))
	require.NoError(t, err)
	require.Equal(t, "1209:0700", strings.TrimSpace(string(id)))

	udev := properties(t, c.path)
	require.Equal(t, "1209", udev["ID_VENDOR_ID"])
	require.Equal(t, "0700", udev["ID_MODEL_ID"])
	require.Equal(t, d.spec.Serial, udev["ID_SERIAL_SHORT"])
	require.Equal(t, "Acme_Acme_Headset_700_"+d.spec.Serial, udev["ID_SERIAL"])

	source := d.source(false)
	require.Equal(t, udev["ID_SERIAL"], source.property("device.serial"), "not the device's own serial number")
	vendor, product := "0x1209", "0x0700"
	if onPulseAudio() {
		vendor, product = "1209", "0700"
	}
	require.Equal(t, vendor, source.property("device.vendor.id"))
	require.Equal(t, product, source.property("device.product.id"))
	expect(t, d.asHeadset(false, false)...)

	d.unplug()
	expect(t)
	d.replug()
	expect(t, d.asHeadset(false, false)...)
}

func TestMuteOnTheDevice(t *testing.T) {
	d := plug(t, 0, headset())
	c := d.card()
	expect(t, d.asHeadset(false, false)...)
	for range 2 {
		for _, muted := range []bool{true, false} {
			d.mute(muted)
			c.event(muteSwitch)
			require.Equal(t, !muted, c.on(muteSwitch), "the switch says whether the microphone is on")
			expect(t, d.asHeadset(muted, false)...)
		}
	}
}

// The headset has one mute, which its button and the host move, and the catalogue says so (shared_with_button): a mute in the
// sound settings is then the hardware's.
func TestMuteOnTheHostReachesTheDevice(t *testing.T) {
	d := plug(t, 0, headset())
	expect(t, d.asHeadset(false, false)...) // a mute that comes while the sound server still reads the card's switches stays its own
	for _, muted := range []bool{true, false} {
		run(t, "pactl", "set-source-mute", d.sources()[0].name, map[bool]string{true: "1", false: "0"}[muted])
		testlab.Eventually(t, "the device to follow", func() bool { return d.state().Muted == muted })
		expect(t, d.asHeadset(muted, false)...)
	}
}

func TestStreaming(t *testing.T) {
	d := plug(t, 0, headset())
	source := d.source(false)
	expect(t, d.asHeadset(false, false)...)
	testlab.Eventually(t, "the sound server to let the idle device rest", func() bool { return !d.state().Recording })
	before := payloads()

	silence := record(t, source.name, func() {
		require.True(t, d.state().Recording)
		require.Equal(t, before, payloads(), "that somebody listens is nothing to report")
		d.mute(true)
		expect(t, d.asHeadset(true, false)...)
	})
	require.False(t, silence)
	require.True(t, record(t, source.name, func() {}), "a muted microphone sends silence")
	expect(t, d.asHeadset(true, false)...)
}

func TestGainControl(t *testing.T) {
	d := plug(t, 0, headset())
	c := d.card()
	require.False(t, c.on(gainSwitch))
	expect(t, d.asHeadset(false, false)...)

	d.do(fakeusb.Command{Do: fakeusb.DoGain, On: true})
	c.event(gainSwitch)
	require.True(t, c.on(gainSwitch))
	expect(t, d.asHeadset(false, true)...)

	c.turn(gainSwitch, "off")
	require.False(t, d.state().GainControl)
	expect(t, d.asHeadset(false, false)...)
}

// Some devices name their controls themselves, and sound servers that look for well-known names then miss the switch.
func TestMuteSwitchThatTheSoundServerDoesNotSee(t *testing.T) {
	spec := headset()
	spec.ID, spec.Name, spec.Feature, spec.GainControl = "1209:0710", "Acme Studio Mic", oddFeature, false
	d := plug(t, 0, spec)
	c := d.card()
	for _, muted := range []bool{true, false} {
		d.mute(muted)
		c.event(oddMuteSwitch)
		require.Equal(t, !muted, c.on(oddMuteSwitch))
		source := d.source(false)
		always := true
		expect(t, fakeserver.Device{
			Type: fakeserver.AudioInput, ID: source.description, Vendor: acme, Model: studioMic, Related: []string{},
			HardwareMute: &muted, NoiseSuppression: &always,
		})
		require.False(t, d.source(false).mute, "the sound server sees this switch now: it shows nothing about reading ALSA")
	}
}

// The sound server shows the same names for both, so they are one device to the client. It is muted if both are.
func TestTwoIdenticalHeadsets(t *testing.T) {
	for name, serials := range map[string][2]string{
		"different serials": {"A1", "A2"},
		"same serial":       {"B1", "B1"},
		"no serials":        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			specs := [2]fakeusb.Spec{headset(), headset()}
			specs[0].Serial, specs[1].Serial = serials[0], serials[1]
			left, right := plug(t, 0, specs[0]), plug(t, 1, specs[1])
			require.NotEqual(t, left.source(false).name, right.source(false).name)
			require.Equal(t, left.source(false).description, right.source(false).description)
			expect(t, left.asHeadset(false, false)...)

			right.mute(true)
			left.mute(true)
			expect(t, left.asHeadset(true, false)...)
			left.mute(false)
			expect(t, left.asHeadset(false, false)...)

			left.unplug()
			expect(t, right.asHeadset(true, false)...)
		})
	}
}
