package devices_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// validate is the client's check of a list, written down a second time: one bad device would
// reject all of them.
func validate(list []Device) error {
	lastByID := make(map[string]Type)
	ids := make(map[string]bool)
	for _, d := range list {
		ids[d.ID] = true
	}
	for i, d := range list {
		switch {
		case d.ID == "" || d.Vendor.Name == "" || d.Vendor.URL == "" || d.Model.Name == "" || d.Model.URL == "":
			return fmt.Errorf("device %d: empty string in %+v", i, d)
		case d.Type != AudioInput && d.Type != AudioOutput && d.Type != VideoInput:
			return fmt.Errorf("device %d: type %q", i, d.Type)
		case d.Related == nil:
			return fmt.Errorf("device %d: related missing", i)
		case !utf8.ValidString(d.ID):
			return fmt.Errorf("device %d: id is not UTF-8", i)
		case d.Type != AudioInput && (d.HardwareMute != nil || d.EchoCancellation != nil || d.NoiseSuppression != nil || d.AutomaticGainControl != nil):
			return fmt.Errorf("device %d: flags on a %s", i, d.Type)
		case lastByID[d.ID] == AudioInput:
			return fmt.Errorf("device %d: %s after the audioinput of the same id", i, d.Type)
		case lastByID[d.ID] == d.Type:
			return fmt.Errorf("device %d: twice", i)
		}
		lastByID[d.ID] = d.Type
		for _, r := range d.Related {
			if r == "" || r == d.ID || !ids[r] {
				return fmt.Errorf("device %d: related %q", i, r)
			}
		}
	}
	return nil
}

func TestResolveProperties(t *testing.T) {
	resolvers := []*catalogue.Resolver{
		testResolver(Options{IDMaxBytes: 127}),
		testResolver(Options{OS: Windows}),
		testResolver(Options{OS: Linux, AudioID: IDNative, IDMaxBytes: 3}),
		testResolver(Options{OS: Darwin, Fields: []Field{HardwareMute}}),
	}
	rapid.Check(t, func(t *rapid.T) {
		in := anyEndpoints().Draw(t, "in")
		for _, r := range resolvers {
			s := r.Resolve(Inputs{Endpoints: in})
			require.NoError(t, validate(s.Wire()))
			require.Empty(t, Diff(s, s))
			require.True(t, s.Equal(s))

			other := r.Resolve(Inputs{Endpoints: shuffled(in, rapid.Uint64().Draw(t, "seed"))})
			require.Equal(t, s, other, "the order of the inputs must not matter")

			total := len(s.Withheld)
			for _, rep := range s.Devices {
				total += len(rep.Endpoints)
			}
			require.Equal(t, len(in), total, "every endpoint is either reported or withheld with a reason")
		}
	})
}

func TestNoFlagWithoutEvidence(t *testing.T) {
	r := testResolver(Options{})
	rapid.Check(t, func(t *rapid.T) {
		in := anyEndpoints().Draw(t, "in")
		for i := range in {
			in[i].Mute, in[i].Effects, in[i].Controls = Unknown, nil, nil
		}
		for _, d := range r.Resolve(Inputs{Endpoints: in}).Devices {
			require.Nil(t, d.HardwareMute)
			require.Nil(t, d.EchoCancellation)
			for f, flag := range d.Flags {
				require.True(t, flag.Value == Unknown || flag.Origin.Via == ViaConst, "%s: %v", f, flag)
			}
		}
	})
}

func TestDiffTellsEveryWireChange(t *testing.T) {
	r := testResolver(Options{})
	rapid.Check(t, func(t *rapid.T) {
		a := r.Resolve(Inputs{Endpoints: anyEndpoints().Draw(t, "a")})
		b := r.Resolve(Inputs{Endpoints: anyEndpoints().Draw(t, "b")})
		same := SameWire(a.Wire(), b.Wire())
		require.Equal(t, same, len(Diff(a, b)) == 0, "%s", Reasons(Diff(a, b)))
	})
}

func TestCarryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Carry(nil, anyEndpoints().Draw(t, "a"), epoch)
		later := epoch.Add(1e9)
		require.Equal(t, a, Carry(a, a, later), "nothing changed, nothing is restamped")
		b := Carry(a, shuffled(a, 1), later)
		require.Equal(t, a, b)
	})
}

func FuzzEndpointJSON(f *testing.F) {
	f.Add([]byte(`{"id":"mic","type":"audioinput","bus":"usb","vid":"1209","pid":"0700","mute":true,"controls":{"x":null}}`))
	r := testResolver(Options{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Endpoint
		if json.Unmarshal(data, &e) != nil {
			return
		}
		s := r.Resolve(Inputs{Endpoints: endpoints{e}})
		require.NoError(t, validate(s.Wire()))
	})
}
