package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// explained is what 'explain' says of the first endpoint.
func explained(t *testing.T, p *doctortest.Machine) string {
	t.Helper()
	p.Resolve(t)
	e := p.Devices.Endpoints[0]
	if r, reported := p.Devices.ReportOf(e); reported {
		for field, all := range e.Considered {
			for _, c := range all {
				if _, why := doctor.Why(p.Facts, r.Product, e, field, c.Rule); why.Code != "" {
					healthtest.Raised(t, why)
				}
			}
		}
	}
	var b strings.Builder
	require.NoError(t, explain(&b, health.English, p.Facts, e))
	return b.String()
}

// TestExplainUnknown: of each kind of source it is said why it does not know, with the reasons that
// doctor has.
func TestExplainUnknown(t *testing.T) {
	t.Parallel()
	sources := func(p *doctortest.Machine, rules ...catalogue.SourceRule) { p.Catalogue.Products[0].Sources = rules }
	rule := func(f devices.Field, k catalogue.SourceKind) catalogue.SourceRule {
		return catalogue.SourceRule{Field: f, SourceKind: k}
	}
	mute := catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}
	usage := catalogue.SourceKind{HIDUsage: &catalogue.HIDUsage{}}
	report := catalogue.SourceKind{HIDReport: &catalogue.HIDReport{}}
	agc := catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: "AGC"}}
	hid := func(value devices.Tri, note, at string) []control.HID {
		source := control.HIDSource{Product: "acme-headset-700", Rule: at, Value: value}
		if note != "" {
			source.Remark = control.ConditionOf(new(health.Unnamed(note)))
		}
		return []control.HID{{Node: "hidraw3", Sources: []control.HIDSource{source}}}
	}
	for name, c := range map[string]struct {
		set  func(*doctortest.Machine)
		want string
	}{
		"hid_usage without a device": {
			func(p *doctortest.Machine) { sources(p, rule(devices.HardwareMute, usage)) },
			"sources[0] hid_usage +does not know: no HID device of the product sends what this source reads",
		},
		"hid_report that has not come": {func(p *doctortest.Machine) {
			sources(p, rule(devices.NoiseSuppression, report))
			p.HID = hid(devices.Unknown, "", "sources[0]")
		}, "sources[0] hid_report +does not know: the device (hidraw3) has not reported it since"},
		"hid_query with a remark": {func(p *doctortest.Machine) {
			sources(p, rule(devices.NoiseSuppression, catalogue.SourceKind{HIDQuery: &catalogue.HIDQuery{}}))
			p.HID = hid(devices.Unknown, "it did not answer", "sources[0]")
		}, "sources[0] hid_query +does not know: hidraw3: it did not answer"},
		"hidpp of another unit": {func(p *doctortest.Machine) {
			sources(p, rule(devices.NoiseSuppression, catalogue.SourceKind{HIDPP: &catalogue.HIDPP{}}))
			p.HID = hid(devices.True, "", "sources[0]")
		}, "sources[0] hidpp +does not know: the HID device that knows it belongs to another unit"},
		"HID is not read": {
			func(p *doctortest.Machine) { sources(p, rule(devices.HardwareMute, usage)); p.Sources = p.Sources[:1] },
			"sources[0] hid_usage +does not know: the agent reads no HID devices",
		},
		"os_endpoint_mute in software": {
			func(p *doctortest.Machine) { sources(p, rule(devices.HardwareMute, mute)) },
			"sources[0] os_endpoint_mute +does not know: the system's mute of this endpoint is not a switch in the device",
		},
		"os_endpoint_mute that is not told": {func(p *doctortest.Machine) {
			sources(p, rule(devices.HardwareMute, mute))
			p.Endpoints[0].Mute = devices.Unknown
		}, "sources[0] os_endpoint_mute +does not know: the system does not report the mute"},
		"os_endpoint_mute behind a virtual endpoint": {func(p *doctortest.Machine) {
			sources(p, rule(devices.HardwareMute, mute))
			p.Endpoints = []devices.Endpoint{{Source: "audio", ID: "cleaned", Name: "Echo-Cancel", Type: devices.AudioInput, Virtual: true, Master: "mic"}, p.Endpoints[0]}
		}, "sources[0] os_endpoint_mute +does not know: the system's mute of this endpoint is not a switch"},
		"os_effects": {func(p *doctortest.Machine) {
			sources(p, rule(devices.EchoCancellation, catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}))
		}, "sources[0] os_effects +does not know: the system does not say whether echo_cancellation is active"},
		"os_effects of another name": {func(p *doctortest.Machine) {
			sources(p, rule(devices.EchoCancellation, catalogue.SourceKind{OSEffects: &catalogue.OSEffects{Effect: devices.NoiseSuppression}}))
		}, "whether noise_suppression is active"},
		"anything behind a virtual endpoint of unknown hardware": {func(p *doctortest.Machine) {
			sources(p, rule(devices.HardwareMute, mute))
			p.Endpoints = []devices.Endpoint{{Source: "audio", ID: "cleaned", Name: "Echo-Cancel", Type: devices.AudioInput, Virtual: true}, p.Endpoints[0]}
		}, "sources[0] os_endpoint_mute +does not know: it is virtual, and the system does not tell which microphone it records"},
		"others of its id": {func(p *doctortest.Machine) {
			other := doctortest.Endpoint("mic", devices.AudioInput, "beef")
			other.ID, other.VID = "other", "0001"
			p.Endpoints = append(p.Endpoints, other)
		}, "hardware_mute            unknown +2 devices of type audioinput share the id"},
		"alsa_ctl without a mixer": {
			func(p *doctortest.Machine) { sources(p, rule(devices.AutomaticGainControl, agc)) },
			`sources[0] alsa_ctl +does not know: the switches of the device's mixer cannot be read, such as "AGC"`,
		},
		"alsa_ctl of another name": {func(p *doctortest.Machine) {
			sources(p, rule(devices.AutomaticGainControl, agc))
			p.Endpoints[0].Controls = map[string]devices.Tri{"Gain": devices.True}
		}, `the device's mixer has no switch "AGC"; it has "Gain"`},
		"alsa_ctl that is neither": {func(p *doctortest.Machine) {
			sources(p, rule(devices.AutomaticGainControl, agc))
			p.Endpoints[0].Controls = map[string]devices.Tri{"AGC": devices.Unknown}
		}, `the channels of the switch "AGC" of the device's mixer differ`},
		"derive names the term": {func(p *doctortest.Machine) {
			sources(p, rule(devices.HardwareMute, catalogue.SourceKind{Derive: &catalogue.Derive{And: []catalogue.SourceKind{usage, report}}}))
			p.HID = append(hid(devices.True, "", "sources[0].derive.and[0]"), hid(devices.Unknown, "", "sources[0].derive.and[1]")...)
		}, "sources[0] derive +does not know: hid_report: the device (hidraw3) has not reported it"},
		"derive passes over what knows": {func(p *doctortest.Machine) {
			anyMute := false
			known := catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &anyMute}}
			sources(p, rule(devices.HardwareMute, catalogue.SourceKind{Derive: &catalogue.Derive{Or: []catalogue.SourceKind{known, usage}}}))
		}, "sources[0] derive +does not know: hid_usage: no HID device"},
		"no reason": {func(p *doctortest.Machine) {
			sources(p, rule(devices.HardwareMute, catalogue.SourceKind{Derive: &catalogue.Derive{And: []catalogue.SourceKind{usage}}}))
			p.HID = hid(devices.True, "", "sources[0].derive.and[0]")
		}, "sources[0] derive +does not know\n"},
		"a source before one that decides": {func(p *doctortest.Machine) {
			anyMute := false
			sources(p, rule(devices.HardwareMute, usage), rule(devices.HardwareMute, catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &anyMute}}))
		}, "sources[0] hid_usage +does not know: no HID device"},
	} {
		t.Run(name, func(t *testing.T) {
			p := doctortest.New(t)
			c.set(p)
			out := explained(t, p)
			place, rest, split := strings.Cut(c.want, " +")
			require.Contains(t, out, place)
			if split {
				_, after, _ := strings.Cut(out, place)
				require.True(t, strings.HasPrefix(strings.TrimLeft(after, " "), rest), out)
			}
		})
	}
	t.Run("a catalogue that has changed since", func(t *testing.T) {
		p := doctortest.New(t)
		p.Endpoints[0].Mute = devices.Unknown
		p.Resolve(t)
		for _, now := range []*catalogue.Catalogue{nil, {Products: []catalogue.Product{{ID: "acme-headset-700", Sources: []catalogue.SourceRule{rule(devices.EchoCancellation, mute)}}}}} {
			var b strings.Builder
			p.Catalogue = now
			require.NoError(t, explain(&b, health.English, p.Facts, p.Devices.Endpoints[0]))
			require.Regexp(t, `sources\[0\] +does not know: its kind is not known, because acme\.yaml cannot be read or has changed`, b.String())
		}
	})
}

// TestExplainNothing: an empty name is no endpoint, and least of all one that has no name either.
func TestExplainNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " \t"} {
		isBadInput(t, sidetone(t, nil, "explain", "--control-socket", filepath.Join(t.TempDir(), "none"), name), "ENDPOINT is empty: give an endpoint's id", "'sidetone devices' lists them")
	}
}
