package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func TestOrderOfUnits(t *testing.T) {
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	unit := func(id, pid string, attached int) devices.Endpoint {
		return with(usb(id, devices.AudioInput, pid), func(e *devices.Endpoint) { e.Container, e.Attached = id, at(attached) })
	}
	cat := catalogueOf(
		catalogue.Product{ID: "first", Priority: 1, Links: []catalogue.Link{usbLink("0700")}},
		catalogue.Product{ID: "second", Priority: 2, Links: []catalogue.Link{usbLink("0701")}, VirtualEndpoints: []catalogue.VirtualRule{{Type: devices.AudioInput, NameRegex: "echo"}}},
		catalogue.Product{ID: "also-second", Priority: 2, Links: []catalogue.Link{usbLink("0702")}},
	)
	cases := map[string]struct {
		endpoints []devices.Endpoint
		want      []string
	}{
		"the vendor's priority":                {[]devices.Endpoint{unit("a", "0701", 5), unit("b", "0700", 1)}, []string{"b", "a"}},
		"then the latest":                      {[]devices.Endpoint{unit("a", "0701", 1), unit("b", "0701", 2), unit("c", "0701", 0)}, []string{"b", "a", "c"}},
		"then the id":                          {[]devices.Endpoint{unit("b", "0701", 1), unit("a", "0701", 1)}, []string{"a", "b"}},
		"equal priority of two products":       {[]devices.Endpoint{unit("a", "0701", 1), unit("b", "0702", 2)}, []string{"b", "a"}},
		"a unit stays together":                {[]devices.Endpoint{unit("a", "0701", 1), unit("b", "0701", 2), with(unit("z", "0701", 3), func(e *devices.Endpoint) { e.Container = "a" })}, []string{"b", "a", "z"}},
		"a unit is as old as its first":        {[]devices.Endpoint{unit("a", "0701", 9), with(unit("z", "0701", 1), func(e *devices.Endpoint) { e.Container = "a" }), unit("b", "0701", 2)}, []string{"b", "a", "z"}},
		"virtual endpoints make nothing old":   {[]devices.Endpoint{unit("a", "0701", 5), virtual("echo", "a"), unit("b", "0701", 2)}, []string{"a", "echo", "b"}},
		"a unit's place is by its smallest id": {[]devices.Endpoint{unit("b", "0701", 1), with(unit("y", "0701", 1), func(e *devices.Endpoint) { e.Container = "x" }), with(unit("a", "0701", 1), func(e *devices.Endpoint) { e.Container = "x" })}, []string{"a", "y", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(10) {
				require.Equal(t, c.want, ids(resolve(t, cat, native, shuffled(c.endpoints, seed)...)))
			}
		})
	}
}

// TestInputsLast: among equal ids the last entry wins in the client, and only an audio input
// has flags.
func TestInputsLast(t *testing.T) {
	dev := func(typ devices.Type, id string) devices.Report {
		return devices.Report{Device: devices.Device{Type: typ, ID: id}}
	}
	in, out, cam := devices.AudioInput, devices.AudioOutput, devices.VideoInput
	cases := map[string]struct{ have, want []devices.Report }{
		"nothing":                           {[]devices.Report{}, []devices.Report{}},
		"no equal ids":                      {[]devices.Report{dev(in, "a"), dev(out, "b")}, []devices.Report{dev(in, "a"), dev(out, "b")}},
		"right already":                     {[]devices.Report{dev(out, "a"), dev(in, "a")}, []devices.Report{dev(out, "a"), dev(in, "a")}},
		"output behind":                     {[]devices.Report{dev(in, "a"), dev(out, "a")}, []devices.Report{dev(out, "a"), dev(in, "a")}},
		"the input keeps its place":         {[]devices.Report{dev(in, "a"), dev(in, "b"), dev(out, "a")}, []devices.Report{dev(out, "a"), dev(in, "a"), dev(in, "b")}},
		"one before and one behind":         {[]devices.Report{dev(out, "a"), dev(in, "b"), dev(in, "a"), dev(cam, "a")}, []devices.Report{dev(out, "a"), dev(in, "b"), dev(cam, "a"), dev(in, "a")}},
		"two behind keep their order":       {[]devices.Report{dev(in, "a"), dev(cam, "a"), dev(out, "a")}, []devices.Report{dev(cam, "a"), dev(out, "a"), dev(in, "a")}},
		"two ids crossed":                   {[]devices.Report{dev(in, "a"), dev(in, "b"), dev(out, "b"), dev(out, "a")}, []devices.Report{dev(out, "a"), dev(in, "a"), dev(out, "b"), dev(in, "b")}},
		"without an input nothing is moved": {[]devices.Report{dev(cam, "a"), dev(out, "a")}, []devices.Report{dev(cam, "a"), dev(out, "a")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, devices.InputsLast(c.have)) })
	}
}

// TestInputsLastAcrossProducts: the ids of all devices lie in one map.
func TestInputsLastAcrossProducts(t *testing.T) {
	name := func(e *devices.Endpoint) { e.Name = "USB Audio" }
	s := resolve(t, catalogueOf(
		catalogue.Product{ID: "mic", Priority: 1, Links: []catalogue.Link{usbLink("0700")}},
		catalogue.Product{ID: "speaker", Priority: 2, Links: []catalogue.Link{usbLink("0701")}},
	), devices.Options{}, with(usb("m", devices.AudioInput, "0700"), name), with(usb("s", devices.AudioOutput, "0701"), name))
	require.Equal(t, devices.AudioOutput, s.Devices[0].Type)
	require.Equal(t, devices.AudioInput, s.Devices[1].Type)
}

func TestAudioInputComesLastAmongEqualIDsOfAUnit(t *testing.T) {
	name := func(e *devices.Endpoint) { e.Name = "Acme" }
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}), devices.Options{VideoID: devices.IDName},
		with(usb("c", devices.VideoInput, "0700"), name), with(usb("i", devices.AudioInput, "0700"), name), with(usb("o", devices.AudioOutput, "0700"), name))
	var types []devices.Type
	for _, d := range s.Devices {
		types = append(types, d.Type)
	}
	require.Equal(t, []devices.Type{devices.AudioOutput, devices.VideoInput, devices.AudioInput}, types)
}
