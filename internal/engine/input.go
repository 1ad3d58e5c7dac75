package engine

import (
	"cmp"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
)

// Input is something that the Engine is told. Exactly one field is set.
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
	Slept Span `json:"slept"`           // for how long, as far as the clock of the process stood still
	Awake Span `json:"awake,omitempty"` // for how long it has been awake again; zero: not known
}

// retimed returns a copy of an input in which the time that it happened, if it has one, is changed.
func (in Input) retimed(change func(time.Time) time.Time) Input {
	switch {
	case in.Observe != nil:
		o := *in.Observe
		o.At = change(o.At)
		in.Observe = &o
	case in.HID != nil:
		h := *in.HID
		h.At = change(h.At)
		if !h.Since.IsZero() {
			h.Since = change(h.Since)
		}
		in.HID = &h
	case in.Push != nil:
		p := *in.Push
		p.At = change(p.At)
		in.Push = &p
	}
	return in
}

// stamped returns an input that has a time; one that was written by hand may have none.
func (in Input) stamped(now time.Time) Input {
	return in.retimed(func(at time.Time) time.Time { return cmp.Or(at, now) })
}

// outcome is the Engine's answer to an input.
type outcome struct {
	pushed Pushed
	err    error
}

// take applies an input, and records it.
func (s *state) take(in Input) (out outcome) {
	s.hasInput = true
	if in.Push != nil {
		in.Push = s.arrived(*in.Push)
	}
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
	s.hid.Configure(set.Resolver.HID, s.now)
	s.regroup()
	s.touch()
}

// handleHID applies what has happened to a HID device. A report that changes nothing costs little: devices send many that no rule uses.
func (s *state) handleHID(e hid.Event) {
	s.eventAt = e.At
	changed := s.hid.Apply(e, s.now)
	if changed || e.Kind != hid.Report {
		s.regroup() // which devices are there proves which units are
	}
	switch e.Kind {
	case hid.Report:
		s.dropDenied(e.Node)
	case hid.Attached:
		s.opts.Log.Info("HID device is read", "device", deviceOf(e))
	case hid.Denied:
		s.opts.Log.Warn("HID device cannot be read", "device", deviceOf(e), "err", health.English.Phrase(*e.Why()))
	case hid.Failed:
		s.opts.Log.Info("HID device cannot be read any more", "node", e.Node, "err", e.Error)
	case hid.Gone:
		s.opts.Log.Info("HID device is gone", "node", e.Node)
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
