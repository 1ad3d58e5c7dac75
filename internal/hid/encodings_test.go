package hid_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/hid"
	"sidetone/internal/strictyaml"
)

// encoding is how one kind of device tells its states, and what the agent is to make of it. The
// files in testdata/encodings also show how such a device is written down in a catalogue.
type encoding struct {
	AllowWrite bool                   `yaml:"allow_write,omitempty"`
	GroupBy    devices.GroupBy        `yaml:"group_by,omitempty"`
	LinkState  []catalogue.LinkRule   `yaml:"link_state,omitempty"`
	Sources    []catalogue.SourceRule `yaml:"sources"`
	Devices    []encodedDevice        `yaml:"devices"`
	Steps      []encodedStep          `yaml:"steps"`
}

type encodedDevice struct {
	Node       string      `yaml:"node"`
	Interface  int         `yaml:"interface"`
	Version    string      `yaml:"version,omitempty"`
	Descriptor []hid.Bytes `yaml:"descriptor"`
}

// encodedStep is one thing that happens, on the first device if no other one is named, and what
// follows from it. A step comes a second after the one before.
type encodedStep struct {
	Plug    string    `yaml:"plug,omitempty"`   // the device is seen to arrive
	Find    string    `yaml:"find,omitempty"`   // the device is there
	In      hid.Bytes `yaml:"in,omitempty"`     // an input report arrives
	Answer  hid.Bytes `yaml:"answer,omitempty"` // the last request brings a feature report
	Do      string    `yaml:"do,omitempty"`     // lost, gone, resume; wait: until something is due
	On      string    `yaml:"on,omitempty"`
	AfterMS int       `yaml:"after_ms,omitempty"`

	Ask    []string                      `yaml:"ask,omitempty"`    // every request that goes out
	Flags  map[devices.Field]devices.Tri `yaml:"flags,omitempty"`  // every flag that is known then; not checked if left out
	Absent bool                          `yaml:"absent,omitempty"` // the product is not reported
	Note   health.Code                   `yaml:"note,omitempty"`   // of a rule on any device; not checked if left out
}

func TestEncodings(t *testing.T) {
	files, err := filepath.Glob("testdata/encodings/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var e encoding
			_, problems := strictyaml.Decode(file, data, &e)
			require.Empty(t, problems)
			p := newPlay(t, e)
			for i, s := range e.Steps {
				p.step(fmt.Sprintf("steps[%d]", i), s)
			}
		})
	}
}

// One rule finds the mute lamp of each of these headsets, wherever its descriptor has it.
func TestLampOfTheField(t *testing.T) {
	const traces = "../../examples/field/asks/traces/"
	for name, lamp := range map[string]byte{
		"dell-sp325": 5, "logitech-mx-brio": 8, "plantronics-blackwire-3220": 9, "yealink-b02b": 2, "jabra-2453": 2,
	} {
		text, err := os.ReadFile(traces + name + ".jsonl")
		require.NoError(t, err)
		found := false
		for line := range strings.Lines(string(text)) {
			var r struct{ HID hid.Event }
			if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &r) != nil || r.HID.Device == nil {
				continue
			}
			p := newPlay(t, encoding{AllowWrite: true, Sources: []catalogue.SourceRule{{
				Field: devices.HardwareMute,
				SourceKind: catalogue.SourceKind{HIDUsage: &catalogue.HIDUsage{
					Page: "08", Usage: "09", Read: catalogue.HIDReadOutput, AskOnUsage: catalogue.Usages{"0b:2f"}, PollMS: 2000,
				}},
			}}})
			r.HID.Device.VID, r.HID.Device.PID = "1209", "0700"
			p.tracker.Apply(r.HID, p.now)
			asked := p.tracker.Requests()
			require.Len(t, asked, 1, name)
			require.Equal(t, []byte{lamp}, asked[0].LastOutput, name)
			found = true
		}
		require.True(t, found, name)
	}
}

// play is one encoding in action.
type play struct {
	t        *testing.T
	e        encoding
	resolver *catalogue.Resolver
	tracker  *hid.Tracker
	now      time.Time
	asked    hid.Request
}

func newPlay(t *testing.T, e encoding) *play {
	cat := &catalogue.Catalogue{
		Schema: catalogue.SchemaVersion,
		Vendor: catalogue.Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"},
		Products: []catalogue.Product{{
			ID: "headset", Name: "Headset", URL: "https://acme.example/h", Priority: 1,
			Links:     []catalogue.Link{{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}}},
			Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput}},
			GroupBy:   e.GroupBy, AllowWrite: e.AllowWrite, LinkState: e.LinkState, Sources: e.Sources,
		}},
	}
	require.Empty(t, cat.Check())
	resolver, err := catalogue.NewResolver(cat, devices.Options{OS: devices.Linux})
	require.NoError(t, err)
	return &play{t: t, e: e, resolver: resolver, tracker: hid.NewTracker(catalogue.HIDRules(cat, devices.Linux)), now: t0}
}

func (p *play) step(name string, s encodedStep) {
	p.now = p.now.Add(time.Second)
	if s.AfterMS != 0 {
		p.now = p.now.Add(time.Duration(s.AfterMS)*time.Millisecond - time.Second)
	}
	if s.On == "" {
		s.On = p.e.Devices[0].Node
	}
	before := p.tracker.Readings()
	changed := p.happen(s)
	require.Equal(p.t, !slices.Equal(before, p.tracker.Readings()), changed, name)
	var asked []string
	for _, r := range p.tracker.Requests() {
		p.asked = r
		switch text := r.What(); {
		case len(r.Output) > 0 || r.Length == 0:
			asked = append(asked, text)
		default:
			asked = append(asked, fmt.Sprintf("%s length %d", text, r.Length))
		}
	}
	require.Equal(p.t, s.Ask, asked, name)
	if s.Note != "" {
		require.Contains(p.t, p.notes(), s.Note, name)
	}
	reports := p.resolver.Resolve(devices.Inputs{
		Endpoints: []devices.Endpoint{{
			ID: "mic", Source: "audio", Type: devices.AudioInput, Name: "Headset", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-1",
		}},
		Readings: p.tracker.Readings(),
	}).Devices
	if s.Absent {
		require.Empty(p.t, reports, name)
		return
	}
	require.Len(p.t, reports, 1, name)
	if s.Flags == nil {
		return
	}
	known := map[devices.Field]devices.Tri{}
	for f, flag := range reports[0].Flags {
		if flag.Value.Known() {
			known[f] = flag.Value
		}
	}
	require.Equal(p.t, s.Flags, known, name)
}

func (p *play) notes() (notes []health.Code) {
	for _, st := range p.tracker.Status() {
		for _, s := range st.Sensors {
			if s.Note != "" {
				healthtest.Raised(p.t, health.Condition{Code: s.Note})
				notes = append(notes, s.Note)
			}
		}
	}
	return notes
}

func (p *play) happen(s encodedStep) bool {
	e := hid.Event{Node: s.On}
	switch {
	case s.Plug != "" || s.Find != "":
		e.Kind, e.Node, e.Plugged = hid.Attached, s.Plug+s.Find, s.Plug != ""
		i := slices.IndexFunc(p.e.Devices, func(d encodedDevice) bool { return d.Node == e.Node })
		d := p.e.Devices[i]
		e.Device = &hid.Device{Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-1", Version: d.Version, Interface: d.Interface, Descriptor: slices.Concat(d.Descriptor...)}
	case s.In != nil:
		e.Kind, e.Data = hid.Report, s.In
	case s.Answer != nil:
		e.Kind, e.Data, e.Node, e.Request = hid.Answer, s.Answer, p.asked.Node, p.asked.ID
	case s.Do == "resume":
		return p.tracker.Resume(p.now, p.now)
	case s.Do == "wait":
		require.False(p.t, p.tracker.Due().IsZero())
		p.now = p.tracker.Due()
		return p.tracker.Expire(p.now)
	case s.Do == "lost":
		e.Kind = hid.Lost
	case s.Do == "gone":
		e.Kind = hid.Gone
	}
	return p.tracker.Apply(e, p.now)
}
