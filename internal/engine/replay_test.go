package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/testlab"
)

const replayCatalogue = `
schema: 1
vendor: {id: acme, name: Acme, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Headset
    url: https://acme.example/headset
    priority: 1
    allow_write: true
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}, {type: audiooutput}]
    link_state:
      - hid_report: {report_id: 3, value: {byte: 1}}
    sources:
      - field: hardware_mute
        hid_usage: {anchor: {start: false}, debounce_ms: 30}
      - field: hardware_mute
        hid_report: {report_id: 2, value: {byte: 1, mask: 0x80}, debounce_ms: 50}
      - field: hardware_mute
        os_endpoint_mute: {shared_with_button: true}
      - field: noise_suppression
        hid_query: {feature: "04", value: {byte: 1}, timeout_ms: 500, ask_on: [{byte: 0, eq: 3}]}
`

// replayDescriptor has phone mute as a press in report 1, and reports 2 and 3 of the vendor's, and the feature report 4.
var replayDescriptor = []byte{
	0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x01,
	0x09, 0x2f, 0x81, 0x06, 0x95, 0x07, 0x81, 0x03, 0xc0,
	0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x01,
	0x85, 0x02, 0x09, 0x02, 0x81, 0x02, 0x85, 0x03, 0x09, 0x03, 0x81, 0x02, 0x85, 0x04, 0x09, 0x04, 0xb1, 0x02, 0xc0,
}

var replayed = sync.OnceValue(func() *catalogue.Catalogue {
	cat, problems := catalogue.Decode("replay.yaml", []byte(replayCatalogue))
	if len(problems) > 0 {
		panic(fmt.Sprint(problems))
	}
	return cat
})

func replaySettings(t testing.TB, opts devices.Options) Settings {
	t.Helper()
	opts.OS = devices.Linux
	r, err := catalogue.NewResolver(replayed(), opts)
	require.NoError(t, err)
	return Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale}
}

// simulation is an Engine at which random things happen.
type simulation struct {
	*Engine
	t     *testing.T
	rng   *rand.Rand
	asked chan hid.Request
}

func (sim *simulation) act() {
	now := func() time.Time { return time.Now().Add(-time.Duration(sim.rng.IntN(2000)) * time.Microsecond) }
	unit := sim.rng.IntN(2)
	container, node := fmt.Sprintf("usb:1-%d", unit), fmt.Sprintf("hidraw%d", unit)
	switch sim.rng.IntN(16) {
	case 0, 1, 2:
		var list []devices.Endpoint
		for u := range 2 {
			if sim.rng.IntN(3) == 0 {
				continue
			}
			mic := devices.Endpoint{
				ID: fmt.Sprintf("mic%d", u), Name: fmt.Sprintf("Mic %d", u), Type: devices.AudioInput, Bus: devices.USB, VID: "1209", PID: "0700",
				Container: fmt.Sprintf("usb:1-%d", u), Serial: fmt.Sprint(u), Mute: devices.Tri(sim.rng.IntN(3)), MuteInHardware: true,
			}
			speaker := mic
			speaker.ID, speaker.Type, speaker.Name = fmt.Sprintf("spk%d", u), devices.AudioOutput, "Speaker"
			list = append(list, mic, speaker)
		}
		sim.Observe(devices.Observation{Source: "audio", Endpoints: list, At: now()})
	case 3:
		sim.Observe(devices.Observation{Source: "audio", Err: errors.New("no answer"), At: now()})
	case 4:
		if sim.rng.IntN(3) == 0 {
			sim.HID(hid.Event{Kind: hid.Gone, Node: node, At: now()})
			return
		}
		sim.HID(hid.Event{Kind: hid.Attached, Node: node, Plugged: sim.rng.IntN(2) == 0, At: now(), Device: &hid.Device{
			Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Container: container, Serial: fmt.Sprint(unit), Descriptor: replayDescriptor,
		}})
	case 5, 6, 7, 8:
		data := [][]byte{{1, 1}, {1, 0}, {2, 0x80}, {2, 0}, {3, 1}, {3, 0}, {9, 9}}[sim.rng.IntN(7)]
		sim.HID(hid.Event{Kind: hid.Report, Node: node, Data: data, At: now()})
	case 9:
		sim.HID(hid.Event{Kind: hid.Lost, Node: node, At: now()})
	case 10, 11:
		p := Push{
			Product: "headset", Serial: []string{"", "0", "1"}[sim.rng.IntN(3)], Owner: []string{"suite", "tool"}[sim.rng.IntN(2)], At: now(),
			State: map[devices.Field]devices.Tri{devices.Fields[sim.rng.IntN(4)]: devices.Tri(sim.rng.IntN(3))}, Seq: uint64(sim.rng.IntN(3)),
		}
		if p.Holder = "conn 1"; sim.rng.IntN(2) == 0 {
			p.TTL = Span(sim.rng.IntN(3000)+1) * Span(time.Millisecond)
		}
		_, _ = sim.Push(p)
	case 12:
		sim.Release("conn 1")
	case 13:
		sim.Resumed([]time.Time{{}, now()}[sim.rng.IntN(2)])
	case 14:
		sim.Configure(replaySettings(sim.t, devices.Options{IDMaxBytes: []int{0, 3}[sim.rng.IntN(2)]}))
	case 15:
		select {
		case r := <-sim.asked:
			sim.HID(hid.Event{Kind: hid.Answer, Node: r.Node, Request: r.ID, Data: []byte{4, byte(sim.rng.IntN(2))}, At: now()})
		default:
		}
	}
}

// A recording that begins at any moment, written as JSON and read back, gives the same lists at the
// same moments, byte for byte.
func TestReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if seed >= 5 && testlab.RanUnraced(t) { // the race detector has seen enough
				return
			}
			var lines [][]byte
			synctest.Test(t, func(t *testing.T) {
				sim := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 1)), asked: make(chan hid.Request, 1000)}
				sim.Engine = New(Options{
					Settings: replaySettings(t, devices.Options{}), Sources: []string{"audio"}, Publish: func(devices.Snapshot) {},
					Ask: func(r hid.Request) { sim.asked <- r }, Log: slog.New(slog.DiscardHandler),
				})
				ctx, cancel := context.WithCancel(t.Context())
				go sim.Run(ctx)
				begin := sim.rng.IntN(150)
				for i := range 400 {
					if i == begin {
						sim.Record("test", func(r Record) {
							b, err := json.Marshal(r)
							require.NoError(t, err)
							lines = append(lines, b)
						})
					}
					sim.act()
					time.Sleep(time.Duration(sim.rng.ExpFloat64() * float64(200*time.Millisecond)))
				}
				time.Sleep(time.Minute)
				cancel()
				synctest.Wait()
			})
			var recording []Record
			for _, l := range lines {
				var r Record
				require.NoError(t, json.Unmarshal(l, &r))
				recording = append(recording, r)
			}
			out, err := replay(recording, Settings{}, false)
			require.NoError(t, err)
			require.True(t, out.Exact)
			require.Greater(t, len(out.Recorded), 10)
			require.Empty(t, out.Differences())
		})
	}
}
