package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Checkpoint is the complete state of a Tracker, from which the replay of a recording starts.
type Checkpoint struct {
	LastRequest uint64             `json:"last_request,omitempty"` // the ID of the last request
	Devices     []DeviceCheckpoint `json:"devices,omitempty"`
}

// DeviceCheckpoint is the state of one device.
type DeviceCheckpoint struct {
	Device  Device             `json:"device"`
	Denied  string             `json:"denied,omitempty"`
	Reason  *health.Condition  `json:"reason,omitempty"` // behind Denied
	Sensors []SensorCheckpoint `json:"sensors,omitempty"`
	Asking  *int               `json:"talking,omitempty"` // index of the sensor whose exchange is under way
	Asked   uint64             `json:"asked,omitempty"`   // ID of its last request
	Queue   []int              `json:"queue,omitempty"`   // indexes of the sensors that come next
}

// SensorCheckpoint is the state of one rule on a device.
type SensorCheckpoint struct {
	Product           string        `json:"product"`
	Rule              string        `json:"rule"`
	Value             devices.Tri   `json:"value"`
	Since             time.Time     `json:"since,omitzero"`
	Stated            time.Time     `json:"stated,omitzero"` // when the device stated the value
	Held              []devices.Tri `json:"held"`            // a toggle: whether its button is held down, by field
	LastPress         time.Time     `json:"last_press,omitzero"`
	State             state         `json:"state,omitempty"`
	Unrecognised      bool          `json:"strange,omitempty"`   // of recordings without State: a link's last value is neither up nor down
	PressedSinceReset bool          `json:"stirred,omitempty"`   // pressed since the state was last forgotten
	Answered          time.Time     `json:"answered,omitzero"`   // when an answer on another channel than the presses set the toggle
	Next              devices.Tri   `json:"next,omitzero"`       // a level within its debounce time
	Due               time.Time     `json:"due,omitzero"`        // when Next counts
	Step              int           `json:"step,omitempty"`      // of the exchange, from 0
	Until             time.Time     `json:"until,omitzero"`      // when the wait for an answer ends; zero: not waiting
	Pausing           time.Time     `json:"pausing,omitzero"`    // when the request of this step is sent
	Silent            bool          `json:"silent,omitempty"`    // the device did not answer the last request
	LateAnswerUntil   time.Time     `json:"stray,omitzero"`      // until when an answer may be to a cancelled request
	FeatureIndex      byte          `json:"place,omitempty"`     // index of the HID++ feature; 0: unknown
	LastFeatureIndex  byte          `json:"was_place,omitempty"` // the last known index
	Lacks             bool          `json:"lacks,omitempty"`     // the device does not have the feature
	AskAgain          time.Time     `json:"ask_again,omitzero"`  // when to query again
	LastAsked         time.Time     `json:"last_asked,omitzero"`
}

// Checkpoint returns the state of t, with its times mapped by clock. Requests must have been fetched before.
func (t *Tracker) Checkpoint(clock func(time.Time) time.Time) Checkpoint {
	c := Checkpoint{LastRequest: t.changes.requests}
	for _, d := range t.devices {
		dc := DeviceCheckpoint{Device: d.device, Denied: d.denied, Reason: d.reason, Asked: d.asked}
		for i, s := range d.sensors {
			sc := SensorCheckpoint{
				Product: s.Product, Rule: s.Path, Value: s.value, Since: clock(s.since), State: s.state, Stated: clock(s.statedAt),
				Held:      slices.Clone(s.held),
				LastPress: clock(s.pressed), PressedSinceReset: s.pressedSinceReset, Answered: clock(s.answered),
				Next: s.next, Due: clock(s.due),
				AskAgain: clock(s.askAgainAt), LastAsked: clock(s.lastAsked),
			}
			if s.exchange != nil {
				sc.Step, sc.Silent, sc.LateAnswerUntil = s.exchange.step, s.exchange.silent, clock(s.exchange.lateAnswerUntil)
				if s.exchange.waiting {
					sc.Until, sc.Pausing = clock(s.exchange.until), clock(s.exchange.pausedUntil)
				}
			}
			if s.pp != nil {
				sc.FeatureIndex, sc.LastFeatureIndex, sc.Lacks = s.pp.index, s.pp.lastIndex, s.pp.lacks
			}
			dc.Sensors = append(dc.Sensors, sc)
			if d.asking == s {
				dc.Asking = &i
			}
		}
		for _, s := range d.queue {
			dc.Queue = append(dc.Queue, slices.Index(d.sensors, s))
		}
		c.Devices = append(c.Devices, dc)
	}
	return c
}

// Restore gives a new Tracker the state of another with the same rules. What belongs to other rules is
// left out.
func (t *Tracker) Restore(c Checkpoint) {
	t.changes.requests = c.LastRequest
	for _, dc := range c.Devices {
		d := &trackedDevice{
			device: dc.Device, desc: Describe(dc.Device), denied: dc.Denied, reason: dc.Reason, asked: dc.Asked, changes: &t.changes,
		}
		t.add(d)
		if d.denied == "" {
			d.sensors = t.sensorsOf(d)
		}
		var sensors []*sensor // by index in the checkpoint; nil: unknown
		for _, sc := range dc.Sensors {
			i := slices.IndexFunc(d.sensors, func(s *sensor) bool { return s.Product == sc.Product && s.Path == sc.Rule })
			if i < 0 {
				sensors = append(sensors, nil)
				continue
			}
			d.sensors[i].restore(sc)
			sensors = append(sensors, d.sensors[i])
		}
		find := func(i int) *sensor {
			if i < 0 || i >= len(sensors) || sensors[i] == nil || sensors[i].exchange == nil {
				return nil
			}
			return sensors[i]
		}
		if dc.Asking != nil {
			d.asking = find(*dc.Asking)
		}
		for _, i := range dc.Queue {
			if s := find(i); s != nil {
				d.queue = append(d.queue, s)
			}
		}
	}
	for _, s := range t.sensors() {
		s.missingDependency = t.isMissingDependency(s)
	}
	t.linkStates = t.links()
}

// state returns State, or what follows from the value if State is missing or contradicts it.
func (c SensorCheckpoint) state() state {
	switch {
	case c.State.known() == c.Value.Known() && c.State != "":
		return c.State
	case c.Value.Known():
		return stated
	case c.Unrecognised:
		return unrecognised
	default:
		return unknown
	}
}

func (s *sensor) restore(c SensorCheckpoint) {
	s.value, s.since, s.pressed, s.next, s.due = c.Value, c.Since, c.LastPress, c.Next, c.Due
	s.pressedSinceReset, s.answered, s.statedAt = c.PressedSinceReset, c.Answered, c.Stated
	s.state = c.state()
	s.askAgainAt, s.lastAsked = c.AskAgain, c.LastAsked
	copy(s.held, c.Held)
	if s.pp != nil {
		s.pp.index, s.pp.lastIndex, s.pp.lacks = c.FeatureIndex, c.LastFeatureIndex, c.Lacks
	}
	if s.exchange == nil {
		return
	}
	s.exchange.silent, s.exchange.lateAnswerUntil = c.Silent, c.LateAnswerUntil
	// The file may be wrong: continue only if the exchange has such a step.
	if c.Step >= 0 && !c.Until.IsZero() {
		if _, ok := s.exchange.request(c.Step); ok {
			s.exchange.step, s.exchange.waiting, s.exchange.until, s.exchange.pausedUntil = c.Step, true, c.Until, c.Pausing
		}
	}
}
