package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// RecordingVersion is the version of the form of recordings that this code writes and reads.
const RecordingVersion = 1

// Record is one line of a recording: what the Engine was told, or what it published. Of all fields
// beside T one is set. In JSON it is an object of two keys.
type Record struct {
	T Span // since the recording began; what was known before comes first and is below zero or zero

	Header *Header // the first line
	Begin  *Begin  // the end of what was known before
	Input
	List   *List   // a list that was published
	Client *Client // what has happened with a client; for people
	End    *End    // the last line; a recording without it was cut off
}

// Header says what a recording is of.
type Header struct {
	Version  int        `json:"version"`            // RecordingVersion
	Program  string     `json:"program,omitempty"`  // which made it
	Started  time.Time  `json:"started,omitzero"`   // when T was zero
	Sources  []string   `json:"sources,omitempty"`  // nothing is published before each has answered once
	Settings *Settings  `json:"settings,omitempty"` // absent in one that was written by hand: those of the replay
	OS       devices.OS `json:"os,omitempty"`       // without settings: the system that the replay is to take for its own
	Ticks    bool       `json:"ticks,omitempty"`    // every step of the Engine is in it; false: what is due happens by itself
}

// Begin is how far the Engine had come when the recording began.
type Begin struct {
	Generation uint64         `json:"generation"` // of the last list; 0: none was published
	Uptime     Span           `json:"uptime,omitempty"`
	Woke       time.Time      `json:"woke,omitzero"` // from the machine's last sleep, if it has slept
	HID        hid.Checkpoint `json:"hid,omitzero"`
}

// List is a list that was published, in the words of the protocol.
type List struct {
	Generation uint64           `json:"generation,omitempty"` // may be left out of one that was written by hand
	Devices    []devices.Device `json:"devices"`
}

// Client is something that has happened with a client.
type Client struct {
	Event      string `json:"event"` // delivered, or the new state of a session
	To         string `json:"to,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
	RoundTrip  Span   `json:"round_trip,omitempty"`
	Error      string `json:"error,omitempty"`
}

// End says how a recording came to its end.
type End struct {
	Error string `json:"error,omitempty"` // why it ends early; empty: whoever recorded wanted no more, or the agent has ended
}

// Span is a time.Duration that is written as "1.5s".
type Span time.Duration

// MarshalText returns it in the form of time.Duration.String.
func (d Span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration does.
func (d *Span) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Span(v)
	return err
}

// line is the JSON form of a Record.
type line struct {
	T         Span         `json:"t"`
	Recording *Header      `json:"recording,omitempty"`
	Begin     *Begin       `json:"begin,omitempty"`
	Observe   *observation `json:"observe,omitempty"`
	HID       *hid.Event   `json:"hid,omitempty"`
	Push      *pushed      `json:"push,omitempty"`
	Release   string       `json:"release,omitempty"`
	Resumed   *Resumed     `json:"resumed,omitempty"`
	Configure *Settings    `json:"configure,omitempty"`
	Tick      bool         `json:"tick,omitempty"`
	List      *List        `json:"list,omitempty"`
	Client    *Client      `json:"client,omitempty"`
	End       *End         `json:"end,omitempty"`
}

// kinds counts what the line is.
func (l line) kinds() (n int) {
	for _, is := range []bool{
		l.Recording != nil, l.Begin != nil, l.Observe != nil, l.HID != nil, l.Push != nil, l.Release != "", l.Resumed != nil,
		l.Configure != nil, l.Tick, l.List != nil, l.Client != nil, l.End != nil,
	} {
		if is {
			n++
		}
	}
	return n
}

type observation struct {
	Source    string             `json:"source"`
	Endpoints []devices.Endpoint `json:"endpoints,omitempty"`
	Notes     []string           `json:"notes,omitempty"`
	Error     string             `json:"error,omitempty"`
	At        time.Time          `json:"at,omitzero"`
}

type pushed struct {
	Product string                        `json:"product"`
	Serial  string                        `json:"serial,omitempty"`
	Owner   string                        `json:"owner"`
	Seq     uint64                        `json:"seq,omitempty"`
	TTL     Span                          `json:"ttl,omitempty"`
	Holder  string                        `json:"holder,omitempty"`
	State   map[devices.Field]devices.Tri `json:"state"`
	At      time.Time                     `json:"at,omitzero"`
	Unit    string                        `json:"unit,omitempty"`
	HIDLeft bool                          `json:"hid_left,omitempty"`
}

type settings struct {
	Catalogue    *devices.Catalogue `json:"catalogue"`
	OS           devices.OS         `json:"os"`
	AudioID      devices.IDScheme   `json:"audio_id,omitempty"`
	VideoID      devices.IDScheme   `json:"video_id,omitempty"`
	IDMaxBytes   int                `json:"id_max_bytes,omitempty"`
	Fields       []devices.Field    `json:"fields,omitempty"`
	RemovalGrace Span               `json:"removal_grace"`
	StaleAfter   Span               `json:"stale_after"`
}

// MarshalJSON returns the line of a recording, without its end.
func (r Record) MarshalJSON() ([]byte, error) {
	l := line{
		T: r.T, Recording: r.Header, Begin: r.Begin, HID: r.HID, Release: r.Release, Resumed: r.Resumed,
		Configure: r.Configure, Tick: r.Tick, List: r.List, Client: r.Client, End: r.End,
	}
	if o := r.Observe; o != nil {
		l.Observe = &observation{Source: o.Source, Endpoints: o.Endpoints, Notes: o.Notes, At: o.At}
		if o.Err != nil {
			l.Observe.Endpoints, l.Observe.Error = nil, o.Err.Error()
		}
	}
	if p := r.Push; p != nil {
		l.Push = &pushed{p.Product, p.Serial, p.Owner, p.Seq, Span(p.TTL), p.Holder, p.State, p.At, p.Unit, p.HIDLeft}
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads the line of a recording. What it does not know is an error: a replay without
// it would not be one.
func (r *Record) UnmarshalJSON(data []byte) error {
	var l line
	if err := decode(data, &l); err != nil {
		return err
	}
	if n := l.kinds(); n != 1 {
		return fmt.Errorf("want beside t one of recording, begin, observe, hid, push, release, resumed, configure, tick, list, client and end, not %d of them", n)
	}
	*r = Record{
		T: l.T, Header: l.Recording, Begin: l.Begin, List: l.List, Client: l.Client, End: l.End,
		Input: Input{HID: l.HID, Release: l.Release, Resumed: l.Resumed, Configure: l.Configure, Tick: l.Tick},
	}
	if o := l.Observe; o != nil {
		r.Observe = &devices.Observation{Source: o.Source, Endpoints: o.Endpoints, Notes: o.Notes, At: o.At}
		if o.Error != "" {
			r.Observe.Err = errors.New(o.Error)
		}
	}
	if p := l.Push; p != nil {
		r.Push = &Push{p.Product, p.Serial, p.Owner, p.Seq, time.Duration(p.TTL), p.Holder, p.State, p.At, p.Unit, p.HIDLeft}
	}
	return r.check()
}

// check finds words that nothing understands, and which would go without a trace.
func (r *Record) check() error {
	switch {
	case r.Observe != nil:
		for _, e := range r.Observe.Endpoints {
			switch {
			case !slices.Contains(devices.Types, e.Type):
				return unknown(fmt.Sprintf("type of the endpoint %q", e.ID), string(e.Type), e.Type.Enum())
			case e.Bus != "" && !slices.Contains(e.Bus.Enum(), string(e.Bus)):
				return unknown(fmt.Sprintf("bus of the endpoint %q", e.ID), string(e.Bus), e.Bus.Enum())
			}
		}
	case r.HID != nil:
		if !slices.Contains(happenings, r.HID.Happening) {
			return unknown("happening", string(r.HID.Happening), happenings)
		}
	case r.Push != nil:
		for f := range r.Push.State {
			if !slices.Contains(devices.Fields, f) {
				return unknown("flag", string(f), devices.Fields)
			}
		}
	}
	return nil
}

var happenings = []hid.Happening{hid.Attached, hid.Denied, hid.Gone, hid.Report, hid.Lost, hid.Answer}

func unknown[T ~string](what, is string, known []T) error {
	return fmt.Errorf("unknown %s %q: want one of %v", what, is, known)
}

// decode reads JSON all of whose names are known.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if text, ok := strings.CutPrefix(fmt.Sprint(err), "json: "); ok {
		return errors.New(text)
	}
	return err
}

// MarshalJSON returns what the settings are made from.
func (set Settings) MarshalJSON() ([]byte, error) {
	o := set.Resolver.Options()
	return json.Marshal(settings{
		set.Resolver.Catalogue(), o.OS, o.AudioID, o.VideoID, o.IDMaxBytes, o.Fields, Span(set.RemovalGrace), Span(set.StaleAfter),
	})
}

// UnmarshalJSON makes settings of it.
func (set *Settings) UnmarshalJSON(data []byte) error {
	var v settings
	if err := decode(data, &v); err != nil {
		return err
	}
	if v.Catalogue == nil {
		return errors.New("settings without a catalogue")
	}
	if faults := v.Catalogue.CheckRecorded(); len(faults) > 0 {
		return errors.New("its catalogue: " + faults[0].Path + ": " + faults[0].Message)
	}
	r, err := devices.NewResolver(v.Catalogue, devices.Options{OS: v.OS, AudioID: v.AudioID, VideoID: v.VideoID, IDMaxBytes: v.IDMaxBytes, Fields: v.Fields})
	*set = Settings{Resolver: r, RemovalGrace: time.Duration(v.RemovalGrace), StaleAfter: time.Duration(v.StaleAfter)}
	return err
}
