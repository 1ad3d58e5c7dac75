package devices_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

const (
	guid    = "0c3a2d5e-7b1f-4e9a-8d66-1f2e3d4c5b6a"
	winID   = "{0.0.1.00000000}.{" + guid + "}"
	winPath = `\\?\usb#vid_1209&pid_0720&mi_00#7&1#{e5323777-f976-4f5b-9b55-b94699c46e44}\global`
)

func TestDefaultIDs(t *testing.T) {
	mic := endpoint{ID: "native", Name: "Name", Type: AudioInput}
	cam := endpoint{ID: "native", Name: "Name", Type: VideoInput, BusInfo: "usb-0000:00:14.0-1"}
	cases := []struct {
		os   OS
		e    Endpoint
		want string
	}{
		{Windows, mic, "native"},
		{Darwin, mic, "Name"},
		{Linux, mic, "Name"},
		{Windows, cam, "native"},
		{Darwin, cam, "native"},
		{Linux, cam, "usb-0000:00:14.0-1"},
		{Linux, endpoint{ID: "native", Name: "Name", Type: VideoInput}, "Name"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, WireID(c.e, DefaultIDScheme(c.os, c.e.Type), 0), "%s %s", c.os, c.e.Type)
		out := c.e
		if out.Type == AudioInput {
			out.Type = AudioOutput
			require.Equal(t, c.want, WireID(out, DefaultIDScheme(c.os, out.Type), 0))
		}
	}
}

func TestIDSchemes(t *testing.T) {
	e := endpoint{ID: winID, Name: "Mikrofon (Acme Ü)", Type: AudioInput, BusInfo: "usb-1"}
	cases := map[string]struct {
		e      Endpoint
		scheme IDScheme
		want   string
	}{
		"native":                  {e, IDNative, winID},
		"guid":                    {e, IDGUID, guid},
		"guid, case is kept":      {endpoint{ID: strings.ToUpper(winID)}, IDGUID, strings.ToUpper(guid)},
		"guid, none there":        {endpoint{ID: "alsa_input.usb", Name: "x"}, IDGUID, ""},
		"guid, not at the end":    {endpoint{ID: winPath, Name: "x"}, IDGUID, ""},
		"name":                    {e, IDName, "Mikrofon (Acme Ü)"},
		"name, none there":        {endpoint{ID: "x"}, IDName, ""},
		"bus_info":                {e, IDBusInfo, "usb-1"},
		"bus_info, none there":    {endpoint{ID: "x", Name: "n"}, IDBusInfo, "n"},
		"name that is no UTF-8":   {endpoint{Name: "a\xffb"}, IDName, "a\ufffdb"},
		"native that is no UTF-8": {endpoint{ID: "a\xffb"}, IDNative, "a\ufffdb"},
		"unknown scheme":          {e, "odd", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, WireID(c.e, c.scheme, 127)) })
	}
}

// TestIDSchemeOverrides: the catalogue before the settings before the system's default.
func TestIDSchemeOverrides(t *testing.T) {
	mic := with(usb(winID, AudioInput, "0700"), func(e *endpoint) { e.Name = "Mic" })
	cam := with(usb("path", VideoInput, "0700"), func(e *endpoint) { e.Name, e.BusInfo = "Cam", "usb-1" })
	cases := map[string]struct {
		product  *catalogue.IDSchemes
		opts     Options
		mic, cam string
	}{
		"default on Windows":          {nil, Options{OS: Windows}, winID, "path"},
		"default on Linux":            {nil, Options{OS: Linux}, "Mic", "usb-1"},
		"default on macOS":            {nil, Options{OS: Darwin}, "Mic", "path"},
		"setting for audio":           {nil, Options{OS: Windows, AudioID: IDGUID}, guid, "path"},
		"setting for video":           {nil, Options{OS: Linux, VideoID: IDName}, "Mic", "Cam"},
		"catalogue":                   {&catalogue.IDSchemes{Linux: IDNative}, Options{OS: Linux}, winID, "path"},
		"catalogue, another system":   {&catalogue.IDSchemes{Linux: IDNative}, Options{OS: Darwin}, "Mic", "path"},
		"catalogue before settings":   {&catalogue.IDSchemes{Windows: IDName}, Options{OS: Windows, AudioID: IDGUID, VideoID: IDNative}, "Mic", "Cam"},
		"catalogue on macOS":          {&catalogue.IDSchemes{Darwin: IDNative}, Options{OS: Darwin}, winID, "path"},
		"settings where it is silent": {&catalogue.IDSchemes{Darwin: IDNative}, Options{OS: Windows, AudioID: IDGUID}, guid, "path"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, IDScheme: c.product}), c.opts, mic, cam)
			require.ElementsMatch(t, []string{c.mic, c.cam}, ids(s))
			for _, d := range s.Devices {
				want := c.mic
				if d.Type == VideoInput {
					want = c.cam
				}
				require.Equal(t, want, d.ID)
			}
		})
	}
}

func TestIDSchemesOfAnUnknownSystem(t *testing.T) {
	require.Empty(t, (&catalogue.IDSchemes{Windows: IDGUID, Darwin: IDName, Linux: IDName}).For("plan9"))
	require.Empty(t, (*catalogue.IDSchemes)(nil).For(Linux))
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
			require.Equal(t, c.want, WireID(endpoint{Name: c.name}, IDName, c.max))
			require.Equal(t, c.want, WireID(endpoint{Name: c.name}, IDBusInfo, c.max), "a name, for want of anything else")
		})
	}
}

func TestOnlyNamesAreCut(t *testing.T) {
	long := strings.Repeat("x", 300)
	require.Equal(t, long, WireID(endpoint{ID: long}, IDNative, 127))
	require.Equal(t, long, WireID(endpoint{BusInfo: long}, IDBusInfo, 127))
}

// TestCutNamesThatBecomeEqual are one device to the client.
func TestCutNamesThatBecomeEqual(t *testing.T) {
	long := strings.Repeat("x", 127)
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}), Options{IDMaxBytes: 127},
		with(usb("a", AudioInput, "0700"), func(e *endpoint) { e.Name = long + " A" }),
		with(usb("b", AudioInput, "0700"), func(e *endpoint) { e.Name = long + " B" }))
	require.Equal(t, []string{long}, ids(s))
	require.Len(t, s.Devices[0].Endpoints, 2)
}

func FuzzWireID(f *testing.F) {
	f.Add("Ünïcode 🎧 \xff", winID, 5)
	f.Add("default", "", 127)
	f.Fuzz(func(t *testing.T, name, id string, limit int) {
		for _, scheme := range []IDScheme{IDNative, IDGUID, IDName, IDBusInfo} {
			got := WireID(endpoint{ID: id, Name: name, BusInfo: ""}, scheme, limit)
			require.True(t, utf8.ValidString(got))
			if limit > 0 && (scheme == IDName || scheme == IDBusInfo) {
				require.LessOrEqual(t, len(got), limit)
				require.True(t, strings.HasPrefix(strings.ToValidUTF8(name, "\ufffd"), got))
			}
		}
	})
}
