package engine

import (
	"log/slog"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// Input is one thing that the Engine is told. Exactly one field is set.
type Input struct {
	Observe   *devices.Observation `json:"observe,omitempty"`
	HID       *hid.Event           `json:"hid,omitempty"`
	Push      *Push                `json:"push,omitempty"`
	Release   string               `json:"release,omitempty"` // the holder of pushes without a lease
	Resumed   *Resumed             `json:"resumed,omitempty"`
	Configure *Settings            `json:"configure,omitempty"`
	Pause     *Pause               `json:"pause,omitempty"`
	Unpause   bool                 `json:"unpause,omitempty"` // the end of the pause
	Tick      bool                 `json:"tick,omitempty"`    // time has passed, and something was due
}

// Resumed says that the machine has slept.
type Resumed struct {
	Slept Span `json:"slept"`           // for how long, as far as the clock of the process does not know
	Awake Span `json:"awake,omitempty"` // for how long it has been awake again; zero: not known
}

// outcome is what the Engine has to say to an input.
type outcome struct {
	pushed Pushed
	err    error
}

// take applies an input, and writes it into the recordings.
func (s *state) take(in Input) (out outcome) {
	s.hasInput = true
	s.record(Record{Input: in})
	switch {
	case in.Observe != nil:
		s.observe(*in.Observe)
	case in.HID != nil:
		s.handleHID(*in.HID)
	case in.Push != nil:
		out.pushed, out.err = s.push(*in.Push)
	case in.Release != "":
		s.release(in.Release)
	case in.Resumed != nil:
		s.resumed(*in.Resumed)
	case in.Configure != nil:
		s.configure(*in.Configure)
	case in.Pause != nil:
		s.pause(in.Pause)
	case in.Unpause:
		s.pause(nil)
	}
	return out
}

func (s *state) configure(set Settings) {
	s.opts.Settings = set
	s.hid.Configure(set.HIDRules(), s.now)
	s.regroup()
	s.touch()
}

// handleHID takes in what has happened to a HID device. A report that changes nothing costs little:
// devices send many that no rule looks at.
func (s *state) handleHID(e hid.Event) {
	s.eventAt, s.plugged = e.At, e.Kind == hid.Attached && e.Plugged
	changed := s.hid.Apply(e, s.now)
	if changed || e.Kind != hid.Report {
		s.regroup() // leases go by which devices are there
	}
	switch e.Kind {
	case hid.Attached:
		s.opts.Log.Info("HID device is read", "device", deviceOf(e))
	case hid.Denied:
		s.opts.Log.Warn("HID device cannot be read", "device", deviceOf(e), "err", e.Error)
	case hid.Gone:
		var reason slog.Attr // left out where there is none
		if e.Error != "" {
			reason = slog.String("reason", e.Error)
		}
		s.opts.Log.Info("HID device is gone", "node", e.Node, reason)
	case hid.Lost:
		s.opts.Log.Warn("HID reports may have been lost: what the device's buttons had set is unknown until it shows again", "node", e.Node)
	}
	if changed || e.Kind != hid.Report {
		s.touch()
	}
}

// deviceOf names the device for the log, without its serial number.
func deviceOf(e hid.Event) string {
	if e.Device == nil {
		return e.Node
	}
	return e.Device.String()
}
