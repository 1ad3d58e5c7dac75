package fakeserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDescribe(t *testing.T) {
	yes, no := true, false
	dev := func(kind, id string, change ...func(*Device)) Device {
		d := Device{Type: kind, ID: id, Vendor: Named{Name: "Acme"}, Model: Named{Name: "Headset 700"}}
		for _, c := range change {
			c(&d)
		}
		return d
	}
	muted := func(v *bool) func(*Device) { return func(d *Device) { d.HardwareMute = v } }
	named := func(vendor, model string) func(*Device) {
		return func(d *Device) { d.Vendor.Name, d.Model.Name = vendor, model }
	}
	in, out := dev(AudioInput, "in"), dev(AudioOutput, "out")
	for name, tc := range map[string]struct {
		before, after []Device
		want          string
	}{
		"nothing yet": {nil, []Device{}, "list empty"},
		"emptied":     {[]Device{in}, nil, "list emptied"},
		"unchanged":   {[]Device{in, out}, []Device{in, out}, "unchanged"},
		"first":       {nil, []Device{in, out}, "+2 devices: Acme Headset 700 (audioinput), Acme Headset 700 (audiooutput)"},
		"removed":     {[]Device{in, out}, []Device{in}, "-1 device: Acme Headset 700 (audiooutput)"},
		"replaced":    {[]Device{in}, []Device{out}, "+1 device: Acme Headset 700 (audiooutput); -1 device: Acme Headset 700 (audioinput)"},
		"muted":       {[]Device{dev(AudioInput, "in", muted(&no))}, []Device{dev(AudioInput, "in", muted(&yes))}, "Acme Headset 700 mic: hardware_mute false → true"},
		"first known": {[]Device{in}, []Device{dev(AudioInput, "in", muted(&no))}, "Acme Headset 700 mic: hardware_mute unset → false"},
		"order":       {[]Device{in, out}, []Device{out, in}, "order changed"},
		"one of two alike": {
			[]Device{dev(AudioInput, "1"), dev(AudioInput, "2")},
			[]Device{dev(AudioInput, "1"), dev(AudioInput, "2", muted(&yes))},
			"Acme Headset 700 mic [2]: hardware_mute unset → true",
		},
		"equal ids": {
			[]Device{dev(AudioInput, "1"), dev(AudioInput, "1")},
			[]Device{dev(AudioInput, "1")},
			"-1 device: Acme Headset 700 (audioinput)",
		},
		"several": {
			[]Device{out},
			[]Device{dev(AudioOutput, "out", func(d *Device) {
				d.Vendor.URL, d.Model.URL, d.Related, d.EchoCancellation = "v", "m", []string{"x"}, &yes
			})},
			"Acme Headset 700 speaker: echo_cancellation unset → true, vendor changed, model changed, related changed",
		},
		"vendor in the model": {nil, []Device{dev(VideoInput, "c", named("Acme", "Acme Cam"))}, "+1 device: Acme Cam (videoinput)"},
		"vendor only":         {nil, []Device{dev(VideoInput, "c", named("Acme", ""))}, "+1 device: Acme (videoinput)"},
		"model only":          {nil, []Device{dev(VideoInput, "c", named("", "Cam"))}, "+1 device: Cam (videoinput)"},
		"no name":             {nil, []Device{dev(VideoInput, "c", named("", ""))}, "+1 device: c (videoinput)"},
		"terminal":            {nil, []Device{dev(VideoInput, "c", named("", "a\x1b[2J\u202eb\n"))}, "+1 device: a\ufffd[2J\ufffdb\ufffd (videoinput)"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, Describe(tc.before, tc.after))
		})
	}
}
