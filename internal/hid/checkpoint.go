package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Checkpoint is all that a Tracker knows, so that the replay of a recording can go on from there.
type Checkpoint struct {
	LastRequest uint64             `json:"last_request,omitempty"` // the ID of the last request
	Devices     []DeviceCheckpoint `json:"devices,omitempty"`
}

// DeviceCheckpoint is what a Tracker knows of one device.
type DeviceCheckpoint struct {
	Device  Device             `json:"device"`
	Denied  string             `json:"denied,omitempty"`
	Reason  *health.Condition  `json:"reason,omitempty"` // behind Denied
	Sensors []SensorCheckpoint `json:"sensors,omitempty"`
	Talking *int               `json:"talking,omitempty"` // the sensor whose conversation is under way
	Asked   uint64             `json:"asked,omitempty"`   // the last request of it
	Queue   []int              `json:"queue,omitempty"`   // the sensors whose turn comes after it
}

// SensorCheckpoint is what one rule knows of a device.
type SensorCheckpoint struct {
	Product           string        `json:"product"`
	Rule              string        `json:"rule"`
	Value             devices.Tri   `json:"value"`
	Since             time.Time     `json:"since,omitzero"`
	Stated            time.Time     `json:"stated,omitzero"` // when the device stated the value
	Held              []devices.Tri `json:"held"`            // a toggle: whether its button is held down, by field
	LastPress         time.Time     `json:"last_press,omitzero"`
	State             state         `json:"state,omitempty"`
	Strange           bool          `json:"strange,omitempty"`   // of recordings without State: what a link told last is neither up nor down
	PressedSinceReset bool          `json:"stirred,omitempty"`   // pressed since all was forgotten
	Answered          time.Time     `json:"answered,omitzero"`   // when an answer set the toggle that had another way than presses
	Next              devices.Tri   `json:"next,omitzero"`       // a level that has yet to last
	Due               time.Time     `json:"due,omitzero"`        // until when
	Step              int           `json:"step,omitempty"`      // of the conversation, from 0
	Until             time.Time     `json:"until,omitzero"`      // zero: it waits for no answer
	Pausing           time.Time     `json:"pausing,omitzero"`    // until when the request of this step does not go out
	Silent            bool          `json:"silent,omitempty"`    // the device did not answer the last time
	LateAnswerUntil   time.Time     `json:"stray,omitzero"`      // until when an answer may be the one to a question that was broken off
	Place             byte          `json:"place,omitempty"`     // index of the HID++ feature; 0: not known
	WasPlace          byte          `json:"was_place,omitempty"` // the last index that was known
	Lacks             bool          `json:"lacks,omitempty"`     // the device does not have the feature
	AskAgain          time.Time     `json:"ask_again,omitzero"`  // when it is asked once more
	LastAsked         time.Time     `json:"last_asked,omitzero"`
}

// Checkpoint returns what t knows, its times passed through clock. Its requests have been fetched.
func (t *Tracker) Checkpoint(clock func(time.Time) time.Time) Checkpoint {
	c := Checkpoint{LastRequest: t.changes.requests}
	for _, d := range t.devices {
		dc := DeviceCheckpoint{Device: d.device, Denied: d.denied, Reason: d.reason, Asked: d.asked}
		for i, s := range d.sensors {
			sc := SensorCheckpoint{
				Product: s.Product, Rule: s.Place, Value: s.value, Since: clock(s.since), State: s.state, Stated: clock(s.statedAt),
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
				sc.Place, sc.WasPlace, sc.Lacks = s.pp.index, s.pp.lastIndex, s.pp.lacks
			}
			dc.Sensors = append(dc.Sensors, sc)
			if d.asking == s {
				dc.Talking = &i
			}
		}
		for _, s := range d.queue {
			dc.Queue = append(dc.Queue, slices.Index(d.sensors, s))
		}
		c.Devices = append(c.Devices, dc)
	}
	return c
}

// Restore puts a Tracker that is new where another was, under the same rules. What the rules do
// not know is left out.
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
		var sensors []*sensor // as the checkpoint counts them; nil: unknown
		for _, sc := range dc.Sensors {
			i := slices.IndexFunc(d.sensors, func(s *sensor) bool { return s.Product == sc.Product && s.Place == sc.Rule })
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
		if dc.Talking != nil {
			d.asking = find(*dc.Talking)
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

// state is the one that the value shows where a recording has none, or one that it contradicts.
func (c SensorCheckpoint) state() state {
	switch {
	case c.State.known() == c.Value.Known() && c.State != "":
		return c.State
	case c.Value.Known():
		return stated
	case c.Strange:
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
		s.pp.index, s.pp.lastIndex, s.pp.lacks = c.Place, c.WasPlace, c.Lacks
	}
	if s.exchange == nil {
		return
	}
	s.exchange.silent, s.exchange.lateAnswerUntil = c.Silent, c.LateAnswerUntil
	// A file may say anything: only a conversation that has such a step is taken up.
	if c.Step >= 0 && !c.Until.IsZero() {
		if _, ok := s.exchange.request(c.Step); ok {
			s.exchange.step, s.exchange.waiting, s.exchange.until, s.exchange.pausedUntil = c.Step, true, c.Until, c.Pausing
		}
	}
}
