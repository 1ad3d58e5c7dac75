package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
)

// The desk that the hour plays at, with the hardware of the example catalogue: two headsets of
// one name, which the client cannot tell apart, a dongle, a webcam that two sources see, and
// an echo canceller on the first headset. The beacon is always there, and its name is a
// number that rises with every reading of the audio source.
var (
	sources = []string{"audio", "camera"}
	units   = []string{"first", "second", "dongle", "webcam", "canceller"}
	inputs  = []string{"first", "second", "dongle", "webcam", "canceller", "beacon"}
)

type pairOfIDs struct{ pid, serial string }

var identities = map[string]pairOfIDs{
	"first": {"0700", "A1"}, "second": {"0700", "A2"}, "dongle": {"0701", "D1"}, "webcam": {"0720", "W1"}, "beacon": {"0710", "B1"},
}

// settings are those that configure chooses from.
var settings = []devices.Options{
	{OS: devices.Linux, IDMaxBytes: 127},
	{OS: devices.Linux, IDMaxBytes: 16}, // makes more names equal
	{OS: devices.Linux, Fields: []devices.Field{devices.HardwareMute}},
}

func resolvers(t *testing.T) []*catalogue.Resolver {
	t.Helper()
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(t, problems)
	var out []*catalogue.Resolver
	for _, o := range settings {
		r, err := catalogue.NewResolver(cat, o)
		require.NoError(t, err)
		out = append(out, r)
	}
	return out
}

// world is the truth: what is plugged in, in which state, and which sources can see it.
type world struct {
	present map[string]bool
	mute    map[string]devices.Tri
	effects map[devices.Field]devices.Tri
	control devices.Tri
	failing map[string]bool
	config  int
	beacon  int
}

func newWorld() *world {
	return &world{
		present: map[string]bool{"beacon": true}, mute: map[string]devices.Tri{}, effects: map[devices.Field]devices.Tri{},
		failing: map[string]bool{},
	}
}

// apply changes the truth and returns the sources that notice.
func (w *world) apply(e event) (noticed []string) {
	switch e.do {
	case plug:
		w.present[e.what] = !w.present[e.what]
		if e.what == "webcam" {
			noticed = []string{"camera"}
		}
	case mute:
		w.mute[e.what] = e.tri
	case process:
		w.effects[devices.Field(e.what)] = e.tri
	case control:
		w.control = e.tri
	case fail:
		w.failing[e.what] = !w.failing[e.what]
		return []string{e.what}
	case configure:
		w.config = e.n
		return nil
	case look:
		return []string{e.what}
	default:
		return nil
	}
	w.beacon++
	return append(noticed, "audio")
}

// recover ends all failures and moves the beacon once more.
func (w *world) recover() {
	clear(w.failing)
	w.beacon++
}

// endpoints is what a source lists when it works.
func (w *world) endpoints(source string) []devices.Endpoint {
	var out []devices.Endpoint
	add := func(unit, id string, t devices.Type, name string) *devices.Endpoint {
		identity := identities[unit]
		out = append(out, devices.Endpoint{
			Source: source, ID: id, Type: t, Name: name, Bus: devices.USB, VID: "1209", PID: identity.pid,
			Serial: identity.serial, Container: "usb:" + unit,
		})
		return &out[len(out)-1]
	}
	if source == "camera" {
		if w.present["webcam"] {
			add("webcam", "video0", devices.VideoInput, "Acme Webcam 4K").BusInfo = "usb-1"
		}
		return out
	}
	for unit, name := range map[string]string{
		"first": "Acme Headset 700", "second": "Acme Headset 700", "dongle": "Acme Dongle 🎧", "webcam": "Acme Webcam 4K Mic",
		"beacon": fmt.Sprintf("Beacon %d", w.beacon),
	} {
		if !w.present[unit] {
			continue
		}
		mic := add(unit, unit+"_mic", devices.AudioInput, name)
		mic.Mute, mic.MuteInHardware = w.mute[unit], unit == "beacon"
		if unit == "second" && w.control.Known() {
			mic.Controls = map[string]devices.Tri{"Auto Gain Control": w.control}
		}
		if unit == "first" || unit == "second" || unit == "dongle" {
			add(unit, unit+"_speaker", devices.AudioOutput, name)
		}
	}
	if w.present["canceller"] {
		out = append(out, devices.Endpoint{
			Source: source, ID: "echo-cancel", Type: devices.AudioInput, Name: "Acme Headset 700 (echo cancelled)",
			Virtual: true, Master: "first_mic", Mute: w.mute["canceller"], Effects: maps.Clone(w.effects),
		})
	}
	return out
}

// reading is what a source says now.
func (w *world) reading(source string, at time.Time) devices.Observation {
	if w.failing[source] {
		return devices.Observation{Source: source, Err: fmt.Errorf("%s is not there", source), At: at}
	}
	return devices.Observation{Source: source, Endpoints: w.endpoints(source), At: at}
}

func (w *world) all() []devices.Endpoint {
	return slices.Concat(w.endpoints("audio"), w.endpoints("camera"))
}

func (w *world) settings(r []*catalogue.Resolver, grace, stale time.Duration) engine.Settings {
	return engine.Settings{Resolver: r[w.config], RemovalGrace: grace, StaleAfter: stale}
}

// text is a device list in the form in which two of them can be compared.
func text(list any) string {
	b, err := json.Marshal(list)
	if err != nil {
		panic(err)
	}
	return string(b)
}
