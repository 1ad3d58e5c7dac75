package link

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// golden is the command for linktest.Headset(devices.True), with NONCE in place of the nonce.
const golden = `{"nonce":"NONCE","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[` +
	`{"type":"audiooutput","id":"Speaker","vendor":{"name":"Acme","url":"https://acme.example"},` +
	`"model":{"name":"Headset \u00dcn\u00efcode \ud83c\udfa7","url":"https://acme.example/h"},"related":["Mic"]},` +
	`{"type":"audioinput","id":"Mic","vendor":{"name":"Acme","url":"https://acme.example"},` +
	`"model":{"name":"Headset \u00dcn\u00efcode \ud83c\udfa7","url":"https://acme.example/h"},"related":["Speaker"],"hardware_mute":true}]}}`

func TestEncodeGolden(t *testing.T) {
	t.Parallel()
	nonce, payload := Encode(linktest.Headset(devices.True).Wire())
	require.Equal(t, golden, strings.Replace(string(payload), nonce, "NONCE", 1))
}

func TestEncodeOmitsWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for mute, want := range map[devices.Tri]string{
		devices.True: `"hardware_mute":true`, devices.False: `"hardware_mute":false`, devices.Unknown: "",
	} {
		_, payload := Encode(linktest.Headset(mute).Wire())
		require.Equal(t, want != "", strings.Contains(string(payload), "hardware_mute"))
		require.Contains(t, string(payload), want)
		require.NotContains(t, string(payload), "null")
		for _, f := range []string{"echo_cancellation", "noise_suppression", "automatic_gain_control"} {
			require.NotContains(t, string(payload), f)
		}
	}
}

func TestEncodeEmptyLists(t *testing.T) {
	t.Parallel()
	for _, list := range [][]devices.Device{nil, {}} {
		nonce, payload := Encode(list)
		require.JSONEq(t, `{"nonce":"`+nonce+`","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`, string(payload))
	}
	lone := devices.Snapshot{Devices: []devices.Report{{Device: devices.Device{Type: devices.AudioOutput, ID: "x"}}}}
	_, payload := Encode(lone.Wire())
	require.Contains(t, string(payload), `"related":[]`, "without related the client refuses the whole command")
}

func TestEveryPayloadHasItsOwnNonce(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for range 1000 {
		nonce, payload := Encode(nil)
		require.NotEmpty(t, nonce)
		require.False(t, seen[nonce])
		seen[nonce] = true
		require.Contains(t, string(payload), `"nonce":"`+nonce+`"`)
	}
}

// TestEncodeIsASCIIAndKeepsItsMeaning for any names: what the client decodes is what was meant.
func TestEncodeIsASCIIAndKeepsItsMeaning(t *testing.T) {
	t.Parallel()
	tri := rapid.SampledFrom([]devices.Tri{devices.Unknown, devices.False, devices.True})
	rapid.Check(t, func(t *rapid.T) {
		var list []devices.Device
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			list = append(list, devices.Device{
				Type:                 rapid.SampledFrom(devices.Types).Draw(t, "type"),
				ID:                   rapid.String().Draw(t, "id"),
				Vendor:               devices.Company{Name: rapid.String().Draw(t, "vendor"), URL: rapid.String().Draw(t, "url")},
				Model:                devices.Company{Name: rapid.String().Draw(t, "model"), URL: rapid.String().Draw(t, "url")},
				Related:              append([]string{}, rapid.SliceOfN(rapid.String(), 0, 3).Draw(t, "related")...),
				HardwareMute:         tri.Draw(t, "mute").Ptr(),
				EchoCancellation:     tri.Draw(t, "ec").Ptr(),
				NoiseSuppression:     tri.Draw(t, "ns").Ptr(),
				AutomaticGainControl: tri.Draw(t, "agc").Ptr(),
			})
		}
		nonce, payload := Encode(list)
		requireASCII(t, payload)
		var got linktest.Command
		require.NoError(t, json.Unmarshal(payload, &got))
		require.Equal(t, nonce, got.Nonce)
		require.Equal(t, command, got.Cmd)
		require.Equal(t, append([]devices.Device{}, list...), got.Args.Devices)
	})
}

func requireASCII(t require.TestingT, b []byte) {
	for _, c := range b {
		if c >= utf8.RuneSelf || c < ' ' {
			require.Failf(t, "not printable ASCII", "%q", b)
		}
	}
}

func TestEncodeOfBrokenNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"bad \xff utf-8":   "bad \ufffd utf-8",
		"half \xf0\x9f":    "half \ufffd\ufffd",
		"\u2028 \x00 \x7f": "\u2028 \x00 \x7f",
		"</script>&\"\\":   "</script>&\"\\",
		"\U0010ffff":       "\U0010ffff",
	} {
		_, payload := Encode([]devices.Device{{ID: in}})
		var got linktest.Command
		require.NoError(t, json.Unmarshal(payload, &got))
		require.Equal(t, want, got.Args.Devices[0].ID)
		requireASCII(t, payload)
	}
}

// FuzzEncode checks what a client decodes, and that all of it is ASCII, whatever the OS calls a device.
func FuzzEncode(f *testing.F) {
	f.Add("plain")
	f.Add("Ünïcode 🎧 \xff\xf0\x9f \u2028 \x00 </script>&\"\\")
	f.Fuzz(func(t *testing.T, s string) {
		nonce, payload := Encode([]devices.Device{{ID: s, Related: []string{s}}})
		requireASCII(t, payload)
		var want string // what is no UTF-8 is replaced
		text, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &want))
		var got linktest.Command
		require.NoError(t, json.Unmarshal(payload, &got))
		require.Equal(t, nonce, got.Nonce)
		require.Equal(t, []devices.Device{{ID: want, Related: []string{want}}}, got.Args.Devices)
	})
}
