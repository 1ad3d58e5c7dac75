package devices_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

const (
	guid    = "0c3a2d5e-7b1f-4e9a-8d66-1f2e3d4c5b6a"
	winID   = "{0.0.1.00000000}.{" + guid + "}"
	winPath = `\\?\usb#vid_1209&pid_0720&mi_00#7&1#{e5323777-f976-4f5b-9b55-b94699c46e44}\global`
)

func TestDefaultIDs(t *testing.T) {
	mic := devices.Endpoint{ID: "native", Name: "Name", Type: devices.AudioInput}
	cam := devices.Endpoint{ID: "native", Name: "Name", Type: devices.VideoInput, BusInfo: "usb-0000:00:14.0-1"}
	cases := []struct {
		os   devices.OS
		e    devices.Endpoint
		want string
	}{
		{devices.Windows, mic, "native"},
		{devices.Darwin, mic, "Name"},
		{devices.Linux, mic, "Name"},
		{devices.Windows, cam, "native"},
		{devices.Darwin, cam, "native"},
		{devices.Linux, cam, "usb-0000:00:14.0-1"},
		{devices.Linux, devices.Endpoint{ID: "native", Name: "Name", Type: devices.VideoInput}, "Name"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, devices.WireID(c.e, devices.DefaultIDScheme(c.os, c.e.Type), 0), "%s %s", c.os, c.e.Type)
		out := c.e
		if out.Type == devices.AudioInput {
			out.Type = devices.AudioOutput
			require.Equal(t, c.want, devices.WireID(out, devices.DefaultIDScheme(c.os, out.Type), 0))
		}
	}
}

func TestIDSchemes(t *testing.T) {
	e := devices.Endpoint{ID: winID, Name: "Mikrofon (Acme Ü)", Type: devices.AudioInput, BusInfo: "usb-1"}
	cases := map[string]struct {
		e      devices.Endpoint
		scheme devices.IDScheme
		want   string
	}{
		"native":                  {e, devices.IDNative, winID},
		"guid":                    {e, devices.IDGUID, guid},
		"guid, case is kept":      {devices.Endpoint{ID: strings.ToUpper(winID)}, devices.IDGUID, strings.ToUpper(guid)},
		"guid, none there":        {devices.Endpoint{ID: "alsa_input.usb", Name: "x"}, devices.IDGUID, ""},
		"guid, not at the end":    {devices.Endpoint{ID: winPath, Name: "x"}, devices.IDGUID, ""},
		"name":                    {e, devices.IDName, "Mikrofon (Acme Ü)"},
		"name, none there":        {devices.Endpoint{ID: "x"}, devices.IDName, ""},
		"bus_info":                {e, devices.IDBusInfo, "usb-1"},
		"bus_info, none there":    {devices.Endpoint{ID: "x", Name: "n"}, devices.IDBusInfo, "n"},
		"name that is no UTF-8":   {devices.Endpoint{Name: "a\xffb"}, devices.IDName, "a\ufffdb"},
		"native that is no UTF-8": {devices.Endpoint{ID: "a\xffb"}, devices.IDNative, "a\ufffdb"},
		"unknown scheme":          {e, "odd", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, devices.WireID(c.e, c.scheme, 127)) })
	}
}

// TestIDSchemeOverrides: the catalogue before the settings before the system's default.
func TestIDSchemeOverrides(t *testing.T) {
	mic := with(usb(winID, devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Name = "Mic" })
	cam := with(usb("path", devices.VideoInput, "0700"), func(e *devices.Endpoint) { e.Name, e.BusInfo = "Cam", "usb-1" })
	cases := map[string]struct {
		product  *catalogue.IDSchemes
		opts     devices.Options
		mic, cam string
	}{
		"default on Windows":          {nil, devices.Options{OS: devices.Windows}, winID, "path"},
		"default on Linux":            {nil, devices.Options{OS: devices.Linux}, "Mic", "usb-1"},
		"default on macOS":            {nil, devices.Options{OS: devices.Darwin}, "Mic", "path"},
		"setting for audio":           {nil, devices.Options{OS: devices.Windows, AudioID: devices.IDGUID}, guid, "path"},
		"setting for video":           {nil, devices.Options{OS: devices.Linux, VideoID: devices.IDName}, "Mic", "Cam"},
		"catalogue":                   {&catalogue.IDSchemes{Linux: devices.IDNative}, devices.Options{OS: devices.Linux}, winID, "path"},
		"catalogue, another system":   {&catalogue.IDSchemes{Linux: devices.IDNative}, devices.Options{OS: devices.Darwin}, "Mic", "path"},
		"catalogue before settings":   {&catalogue.IDSchemes{Windows: devices.IDName}, devices.Options{OS: devices.Windows, AudioID: devices.IDGUID, VideoID: devices.IDNative}, "Mic", "Cam"},
		"catalogue on macOS":          {&catalogue.IDSchemes{Darwin: devices.IDNative}, devices.Options{OS: devices.Darwin}, winID, "path"},
		"settings where it is silent": {&catalogue.IDSchemes{Darwin: devices.IDNative}, devices.Options{OS: devices.Windows, AudioID: devices.IDGUID}, guid, "path"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, IDScheme: c.product}), c.opts, mic, cam)
			require.ElementsMatch(t, []string{c.mic, c.cam}, ids(s))
			for _, d := range s.Devices {
				want := c.mic
				if d.Type == devices.VideoInput {
					want = c.cam
				}
				require.Equal(t, want, d.ID)
			}
		})
	}
}

func TestIDSchemesOfAnUnknownSystem(t *testing.T) {
	require.Empty(t, (&catalogue.IDSchemes{Windows: devices.IDGUID, Darwin: devices.IDName, Linux: devices.IDName}).For("plan9"))
	require.Empty(t, (*catalogue.IDSchemes)(nil).For(devices.Linux))
}

func TestNamesAreCut(t *testing.T) {
	a := strings.Repeat("a", 126)
	cases := map[string]struct {
		name string
		max  int
		want string
	}{
		"short":                     {"Mic", 127, "Mic"},
		"exactly as long":           {a + "b", 127, a + "b"},
		"one too long":              {a + "bc", 127, a + "b"},
		"in a character of 2 bytes": {a + "ü", 127, a},
		"before one of 2 bytes":     {a[1:] + "ü", 127, a[1:] + "ü"},
		"in a character of 4 bytes": {a[2:] + "🎧", 127, a[2:]},
		"combining marks are bytes": {a + "e\u0301", 127, a + "e"},
		"never":                     {a + a + "ü", 0, a + a + "ü"},
		"nothing is left":           {"🎧", 3, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, devices.WireID(devices.Endpoint{Name: c.name}, devices.IDName, c.max))
			require.Equal(t, c.want, devices.WireID(devices.Endpoint{Name: c.name}, devices.IDBusInfo, c.max), "a name, for want of anything else")
		})
	}
}

func TestOnlyNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 300)
	require.Equal(t, long, devices.WireID(devices.Endpoint{ID: long}, devices.IDNative, 127))
	require.Equal(t, long, devices.WireID(devices.Endpoint{BusInfo: long}, devices.IDBusInfo, 127))
}

// TestCutNamesThatBecomeEqual are one device to the client.
func TestCutNamesThatBecomeEqual(t *testing.T) {
	long := strings.Repeat("x", 127)
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}), devices.Options{IDMaxBytes: 127},
		with(usb("a", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Name = long + " A" }),
		with(usb("b", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Name = long + " B" }))
	require.Equal(t, []string{long}, ids(s))
	require.Len(t, s.Devices[0].Endpoints, 2)
}

func FuzzWireID(f *testing.F) {
	f.Add("Ünïcode 🎧 \xff", winID, 5)
	f.Add("default", "", 127)
	f.Fuzz(func(t *testing.T, name, id string, limit int) {
		for _, scheme := range []devices.IDScheme{devices.IDNative, devices.IDGUID, devices.IDName, devices.IDBusInfo} {
			got := devices.WireID(devices.Endpoint{ID: id, Name: name, BusInfo: ""}, scheme, limit)
			require.True(t, utf8.ValidString(got))
			if limit > 0 && (scheme == devices.IDName || scheme == devices.IDBusInfo) {
				require.LessOrEqual(t, len(got), limit)
				require.True(t, strings.HasPrefix(strings.ToValidUTF8(name, "\ufffd"), got))
			}
		}
	})
}
