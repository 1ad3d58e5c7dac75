package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// RecordingVersion is the version of the format of recordings that this code writes and reads.
const RecordingVersion = 1

// Record is one line of a recording: something that the Engine was told, or that it published. Exactly one field
// besides T is set. In JSON it is an object of two keys.
type Record struct {
	T Span `json:"t"` // since the recording began; not above zero for what was known before, which comes first

	Header *Header `json:"recording,omitempty"` // the first line
	Begin  *Begin  `json:"begin,omitempty"`     // the end of what was known before
	Input
	List   *List   `json:"list,omitempty"`   // a list that was published
	Client *Client `json:"client,omitempty"` // something that has happened with a client; for people
	End    *End    `json:"end,omitempty"`    // the last line; a recording without it was cut off
}

// Header says what a recording is of.
type Header struct {
	Version  int        `json:"version"`            // RecordingVersion
	Program  string     `json:"program,omitempty"`  // that made it
	Started  time.Time  `json:"started,omitzero"`   // when T was zero
	Sources  []string   `json:"sources,omitempty"`  // nothing is published before each has answered once
	Settings *Settings  `json:"settings,omitempty"` // absent in one that was written by hand: those of the replay apply
	OS       devices.OS `json:"os,omitempty"`       // without settings: the system on which the replay is to pretend to run
	Ticks    bool       `json:"ticks,omitempty"`    // every step of the Engine is in it; false: the replay does by itself what is due
}

// Begin is the state that the Engine had reached when the recording began.
type Begin struct {
	Generation uint64         `json:"generation"` // of the last list; 0: none was published
	Uptime     Span           `json:"uptime,omitempty"`
	Woke       time.Time      `json:"woke,omitzero"` // from the machine's last sleep, if it has slept
	HID        hid.Checkpoint `json:"hid,omitzero"`
	Units      []pastUnit     `json:"units,omitempty"`      // that are new, or that a source has missed for a while
	Departures []departure    `json:"departures,omitempty"` // of units that have just left
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

// End says how a recording ended.
type End struct {
	Error string `json:"error,omitempty"` // why it ends early; empty: its reader stopped it, or the agent ended
}

// Span is a time.Duration that is written as "1.5s".
type Span time.Duration

// MarshalText returns it in the format of time.Duration.String.
func (d Span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the format of time.ParseDuration.
func (d *Span) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Span(v)
	return err
}

// kinds counts the fields that are set besides T.
func (r *Record) kinds() (n int) {
	v := reflect.ValueOf(r).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		if f.Name != "T" && !f.Anonymous && !v.FieldByIndex(f.Index).IsZero() {
			n++
		}
	}
	return n
}

// UnmarshalJSON reads the line of a recording. Anything that it does not know is an error: a replay that leaves
// something out would be none.
func (r *Record) UnmarshalJSON(data []byte) error {
	type plain Record
	*r = Record{}
	if err := decode(data, (*plain)(r)); err != nil {
		return err
	}
	if n := r.kinds(); n != 1 {
		return fmt.Errorf("want beside t one of recording, begin, observe, hid, push, release, resumed, configure, "+
			"pause, unpause, tick, list, client and end, "+
			"not %d of them", n)
	}
	return r.check()
}

// check finds values that would be ignored silently because nothing understands them.
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
		if !slices.Contains(eventKinds, r.HID.Kind) {
			return unknown("happening", string(r.HID.Kind), eventKinds)
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

var eventKinds = []hid.EventKind{hid.Attached, hid.Denied, hid.Failed, hid.Gone, hid.Report, hid.Lost, hid.Answer}

func unknown[T ~string](what, is string, known []T) error {
	return fmt.Errorf("unknown %s %q: want one of %v", what, is, known)
}

// decode reads JSON that has no unknown names.
func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if text, ok := strings.CutPrefix(fmt.Sprint(err), "json: "); ok {
		return errors.New(text)
	}
	return err
}

// settingsFields is the JSON of Settings.
type settingsFields struct {
	Catalogue *catalogue.Catalogue `json:"catalogue"`
	devices.Options
	RemovalGrace Span              `json:"removal_grace"`
	StaleAfter   Span              `json:"stale_after"`
	PauseList    devices.PauseList `json:"pause_list,omitempty"`
}

// MarshalJSON returns what the settings are made from.
func (set Settings) MarshalJSON() ([]byte, error) {
	return json.Marshal(settingsFields{
		set.Resolver.Catalogue, set.Resolver.Options(), Span(set.RemovalGrace), Span(set.StaleAfter), set.PauseList,
	})
}

// UnmarshalJSON makes settings from that.
func (set *Settings) UnmarshalJSON(data []byte) error {
	var v settingsFields
	if err := decode(data, &v); err != nil {
		return err
	}
	if v.Catalogue == nil {
		return errors.New("settings without a catalogue")
	}
	if faults := v.Catalogue.CheckRecorded(); len(faults) > 0 {
		return errors.New("its catalogue: " + faults[0].Path + ": " + faults[0].Message)
	}
	r, err := catalogue.NewResolver(v.Catalogue, v.Options)
	*set = Settings{Resolver: r, RemovalGrace: time.Duration(v.RemovalGrace), StaleAfter: time.Duration(v.StaleAfter), PauseList: v.PauseList}
	return err
}
