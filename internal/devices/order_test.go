package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestOrderOfUnits(t *testing.T) {
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	unit := func(id, pid string, attached int) Endpoint {
		return with(usb(id, AudioInput, pid), func(e *endpoint) { e.Container, e.Attached = id, at(attached) })
	}
	cat := catalogueOf(
		product{ID: "first", Priority: 1, Links: links{usbLink("0700")}},
		product{ID: "second", Priority: 2, Links: links{usbLink("0701")}, VirtualEndpoints: []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "echo"}}},
		product{ID: "also-second", Priority: 2, Links: links{usbLink("0702")}},
	)
	cases := map[string]struct {
		endpoints []Endpoint
		want      []string
	}{
		"the vendor's priority":                {endpoints{unit("a", "0701", 5), unit("b", "0700", 1)}, []string{"b", "a"}},
		"then the latest":                      {endpoints{unit("a", "0701", 1), unit("b", "0701", 2), unit("c", "0701", 0)}, []string{"b", "a", "c"}},
		"then the id":                          {endpoints{unit("b", "0701", 1), unit("a", "0701", 1)}, []string{"a", "b"}},
		"equal priority of two products":       {endpoints{unit("a", "0701", 1), unit("b", "0702", 2)}, []string{"b", "a"}},
		"a unit stays together":                {endpoints{unit("a", "0701", 1), unit("b", "0701", 2), with(unit("z", "0701", 3), func(e *endpoint) { e.Container = "a" })}, []string{"b", "a", "z"}},
		"a unit is as old as its first":        {endpoints{unit("a", "0701", 9), with(unit("z", "0701", 1), func(e *endpoint) { e.Container = "a" }), unit("b", "0701", 2)}, []string{"b", "a", "z"}},
		"virtual endpoints make nothing old":   {endpoints{unit("a", "0701", 5), virtual("echo", "a"), unit("b", "0701", 2)}, []string{"a", "echo", "b"}},
		"a unit's place is by its smallest id": {endpoints{unit("b", "0701", 1), with(unit("y", "0701", 1), func(e *endpoint) { e.Container = "x" }), with(unit("a", "0701", 1), func(e *endpoint) { e.Container = "x" })}, []string{"a", "y", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				require.Equal(t, c.want, ids(resolve(t, cat, native, shuffled(c.endpoints, seed)...)))
			}
		})
	}
}

// Within a unit the vendor's rules say what comes first.
func TestOrderWithinAUnit(t *testing.T) {
	pick := func(typ Type, name string) catalogue.EndpointRule {
		return catalogue.EndpointRule{Type: typ, Pick: &catalogue.Pick{NameRegex: name}}
	}
	cat := catalogueOf(product{
		ID: "mixer", Links: links{usbLink("0700")},
		Endpoints: []catalogue.EndpointRule{
			pick(AudioInput, "chat"), {Type: AudioInput}, pick(AudioOutput, "system"), {Type: AudioOutput}, {Type: VideoInput},
		},
		VirtualEndpoints: []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "noise"}, {Type: AudioInput, NameRegex: "echo"}},
	})
	list := endpoints{
		usb("a camera", VideoInput, "0700"), usb("broadcast", AudioInput, "0700"), usb("chat", AudioInput, "0700"), usb("aux", AudioInput, "0700"),
		usb("game", AudioOutput, "0700"), usb("system", AudioOutput, "0700"), virtual("an echo", "chat"), virtual("noise", "chat"),
	}
	for seed := range uint64(10) {
		require.Equal(t, []string{"chat", "aux", "broadcast", "system", "game", "a camera", "noise", "an echo"}, ids(resolve(t, cat, native, shuffled(list, seed)...)))
	}
}

// TestInputsLast: among equal ids the last entry wins in the client, and only an audio input
// has flags.
func TestInputsLast(t *testing.T) {
	dev := func(typ Type, id string) Report {
		return Report{Device: Device{Type: typ, ID: id}}
	}
	in, out, cam := AudioInput, AudioOutput, VideoInput
	cases := map[string]struct{ have, want []Report }{
		"nothing":                           {[]Report{}, []Report{}},
		"no equal ids":                      {[]Report{dev(in, "a"), dev(out, "b")}, []Report{dev(in, "a"), dev(out, "b")}},
		"right already":                     {[]Report{dev(out, "a"), dev(in, "a")}, []Report{dev(out, "a"), dev(in, "a")}},
		"output behind":                     {[]Report{dev(in, "a"), dev(out, "a")}, []Report{dev(out, "a"), dev(in, "a")}},
		"the input keeps its place":         {[]Report{dev(in, "a"), dev(in, "b"), dev(out, "a")}, []Report{dev(out, "a"), dev(in, "a"), dev(in, "b")}},
		"one before and one behind":         {[]Report{dev(out, "a"), dev(in, "b"), dev(in, "a"), dev(cam, "a")}, []Report{dev(out, "a"), dev(in, "b"), dev(cam, "a"), dev(in, "a")}},
		"two behind keep their order":       {[]Report{dev(in, "a"), dev(cam, "a"), dev(out, "a")}, []Report{dev(cam, "a"), dev(out, "a"), dev(in, "a")}},
		"two ids crossed":                   {[]Report{dev(in, "a"), dev(in, "b"), dev(out, "b"), dev(out, "a")}, []Report{dev(out, "a"), dev(in, "a"), dev(out, "b"), dev(in, "b")}},
		"without an input nothing is moved": {[]Report{dev(cam, "a"), dev(out, "a")}, []Report{dev(cam, "a"), dev(out, "a")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, InputsLast(c.have)) })
	}
}

// TestInputsLastAcrossProducts: the ids of all devices lie in one map.
func TestInputsLastAcrossProducts(t *testing.T) {
	name := func(e *endpoint) { e.Name = "USB Audio" }
	s := resolve(t, catalogueOf(
		product{ID: "mic", Priority: 1, Links: links{usbLink("0700")}},
		product{ID: "speaker", Priority: 2, Links: links{usbLink("0701")}},
	), Options{}, with(usb("m", AudioInput, "0700"), name), with(usb("s", AudioOutput, "0701"), name))
	require.Equal(t, AudioOutput, s.Devices[0].Type)
	require.Equal(t, AudioInput, s.Devices[1].Type)
}

func TestAudioInputComesLastAmongEqualIDsOfAUnit(t *testing.T) {
	name := func(e *endpoint) { e.Name = "Acme" }
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}), Options{VideoID: IDName},
		with(usb("c", VideoInput, "0700"), name), with(usb("i", AudioInput, "0700"), name), with(usb("o", AudioOutput, "0700"), name))
	var types []Type
	for _, d := range s.Devices {
		types = append(types, d.Type)
	}
	require.Equal(t, []Type{AudioOutput, VideoInput, AudioInput}, types)
}
