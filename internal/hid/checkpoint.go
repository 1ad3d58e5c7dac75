package hid

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/health"
)

// Checkpoint is the complete state of a Tracker, from which the replay of a recording starts.
type Checkpoint struct {
	LastRequest uint64             `json:"last_request,omitempty"` // the ID of the last request
	SoftwareID  byte               `json:"software_id,omitempty"`  // that of the last HID++ exchange; 0: of a version that had only one
	Woke        time.Time          `json:"woke,omitzero"`          // when the machine last woke
	WasUp       []unitCheckpoint   `json:"was_up,omitempty"`       // the units whose links have been up since
	Away        []awayCheckpoint   `json:"away,omitempty"`         // the units that may have been away unnoticed
	Devices     []deviceCheckpoint `json:"devices,omitempty"`

	Owed map[string][]lateCheckpoint `json:"owed,omitempty"` // by node: answers that may still come when it is opened anew
}

// unitCheckpoint names a unit.
type unitCheckpoint struct {
	Product  string `json:"product"`
	Identity string `json:"identity"`
}

func (u unitCheckpoint) compare(v unitCheckpoint) int {
	return cmp.Or(cmp.Compare(u.Product, v.Product), cmp.Compare(u.Identity, v.Identity))
}

// awayCheckpoint says when a unit may last have been away unnoticed.
type awayCheckpoint struct {
	unitCheckpoint
	At time.Time `json:"at"`
}

// deviceCheckpoint is the state of one device.
type deviceCheckpoint struct {
	Device    Device             `json:"device"`
	Plugged   bool               `json:"plugged,omitempty"`   // of recordings without PluggedAt: its arrival was observed
	PluggedAt time.Time          `json:"plugged_at,omitzero"` // when its arrival was observed
	Denied    string             `json:"denied,omitempty"`    // of recordings without Reason
	Reason    *health.Condition  `json:"reason,omitempty"`    // why it cannot be read
	Lost      time.Time          `json:"lost,omitzero"`       // when it was last queried because reports were lost
	Sensors   []sensorCheckpoint `json:"sensors,omitempty"`
	Asking    *int               `json:"talking,omitempty"` // index of the sensor whose exchange is under way
	Asked     uint64             `json:"asked,omitempty"`   // ID of its last request
	Queue     []int              `json:"queue,omitempty"`   // indexes of the sensors that come next
	Late      []lateCheckpoint   `json:"late,omitempty"`    // answers that may still come, the oldest first
	Answered  time.Time          `json:"answered,omitzero"` // when what may be one of them last came
}

// lateCheckpoint is an answer that may still come.
type lateCheckpoint struct {
	Sensor int       `json:"sensor"` // index of the sensor that has asked; -1: of a rule that there is no longer
	Step   int       `json:"step,omitempty"`
	Sent   Bytes     `json:"sent"`           // the request
	At     time.Time `json:"at,omitzero"`    // when it was sent; zero: of an older version
	Asked  time.Time `json:"asked,omitzero"` // zero: what it says is outdated
	Until  time.Time `json:"until"`
	Passed time.Time `json:"passed,omitzero"` // when the device first sent, after that, what may be a late answer
}

// sensorCheckpoint is the state of one rule on a device.
type sensorCheckpoint struct {
	Product string `json:"product"`
	Rule    string `json:"rule"`
	sensorState
	interfaceState
	Unrecognised bool      `json:"strange,omitempty"` // of recordings without State: a link's last value is neither up nor down
	LateUntil    time.Time `json:"stray,omitzero"`    // of recordings without Late: until when the answer to its last request may come
	exchangeState
	hidppState
}

// Checkpoint returns the state of t, with its times mapped by clock. Requests must have been fetched before.
func (t *Tracker) Checkpoint(clock func(time.Time) time.Time) Checkpoint {
	c := Checkpoint{LastRequest: t.changes.requests, SoftwareID: t.changes.softwareID, Woke: clock(t.woke)}
	for u := range t.wasUp {
		c.WasUp = append(c.WasUp, unitCheckpoint{u.product, u.identity})
	}
	slices.SortFunc(c.WasUp, unitCheckpoint.compare)
	for u, at := range t.away {
		c.Away = append(c.Away, awayCheckpoint{unitCheckpoint{u.product, u.identity}, clock(at)})
	}
	slices.SortFunc(c.Away, func(a, b awayCheckpoint) int { return a.compare(b.unitCheckpoint) })
	for node, late := range t.owed {
		if c.Owed == nil {
			c.Owed = make(map[string][]lateCheckpoint)
		}
		c.Owed[node] = lateCheckpoints(late, nil, clock)
	}
	for _, d := range t.devices {
		dc := deviceCheckpoint{
			Device: d.device, PluggedAt: clock(d.plugged), Reason: d.denied, Lost: clock(d.lost), Asked: d.asked,
			Answered: clock(d.answered),
		}
		for i, s := range d.sensors {
			sc := sensorCheckpoint{Product: s.Product, Rule: s.Path, sensorState: *s.sensorState, interfaceState: s.interfaceState}
			sc.Held = slices.Clone(s.Held)
			if s.Heard != nil {
				sc.Heard = &heard{s.Heard.Value, clock(s.Heard.Since)}
			}
			if s.exchange != nil {
				sc.exchangeState = s.exchange.exchangeState
			}
			if s.pp != nil {
				sc.hidppState = s.pp.hidppState
			}
			for _, at := range []*time.Time{
				&sc.Since, &sc.StatedAt, &sc.Pressed, &sc.PressedSince, &sc.Answered, &sc.NextSince, &sc.Due, &sc.OutdatedAt,
				&sc.Doubted, &sc.Triggered, &sc.AskAgainAt, &sc.LastAsked,
				&sc.Until, &sc.PausedUntil,
			} {
				*at = clock(*at)
			}
			dc.Sensors = append(dc.Sensors, sc)
			if d.asking == s {
				dc.Asking = &i
			}
		}
		for _, s := range d.queue {
			dc.Queue = append(dc.Queue, slices.Index(d.sensors, s))
		}
		dc.Late = lateCheckpoints(d.late, d.sensors, clock)
		c.Devices = append(c.Devices, dc)
	}
	return c
}

func lateCheckpoints(late []lateAnswer, sensors []*sensor, clock func(time.Time) time.Time) (out []lateCheckpoint) {
	for _, l := range late {
		sensor := slices.Index(sensors, l.sensor)
		out = append(out, lateCheckpoint{sensor, l.step, l.sent, clock(l.at), clock(l.asked), clock(l.until), clock(l.passed)})
	}
	return out
}

// answer returns the answer as that of a rule that there is no longer.
func (l lateCheckpoint) answer() lateAnswer {
	return lateAnswer{sent: l.Sent, at: cmp.Or(l.At, l.Until), until: l.Until, passed: l.Passed}
}

// Restore gives a new Tracker the state of another with the same rules. What belongs to other rules is
// left out.
func (t *Tracker) Restore(c Checkpoint) {
	t.changes.requests, t.changes.softwareID = c.LastRequest, c.SoftwareID
	t.woke = c.Woke
	for _, u := range c.WasUp {
		t.wasUp[unit{u.Product, u.Identity}] = true
	}
	for _, u := range c.Away {
		t.away[unit{u.Product, u.Identity}] = u.At
	}
	for node, late := range c.Owed {
		for _, l := range late {
			t.owed[node] = append(t.owed[node], l.answer())
		}
	}
	for _, dc := range c.Devices {
		t.restoreDevice(dc)
	}
	for _, s := range t.sensors() {
		s.missingDependency = t.isMissingDependency(s)
	}
	t.changes.linkStates = t.links()
	t.noteUp()
}

func (t *Tracker) restoreDevice(dc deviceCheckpoint) {
	d := &trackedDevice{
		device: dc.Device, desc: Describe(dc.Device), plugged: dc.PluggedAt, denied: dc.Reason,
		lost: dc.Lost, asked: dc.Asked, answered: dc.Answered, changes: &t.changes,
	}
	if d.denied == nil && dc.Denied != "" {
		d.denied = new(health.Unnamed(dc.Denied))
	}
	t.add(d)
	if d.denied == nil {
		d.sensors = t.sensorsOf(d)
		t.shareStates()
	}
	sensors := make([]*sensor, len(dc.Sensors)) // nil: unknown
	for at, sc := range dc.Sensors {
		if i := slices.IndexFunc(d.sensors, func(s *sensor) bool { return s.Product == sc.Product && s.Path == sc.Rule }); i >= 0 {
			sensors[at] = d.sensors[i]
			sensors[at].restore(sc)
		}
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
	d.restoreLate(dc, find)
}

// restoreLate restores the answers that may still come.
func (d *trackedDevice) restoreLate(c deviceCheckpoint, find func(int) *sensor) {
	for i, sc := range c.Sensors {
		if s := find(i); s != nil && s.Query != nil && !sc.LateUntil.IsZero() {
			last := len(s.Query.Steps) - 1
			c.Late = append(c.Late, lateCheckpoint{Sensor: i, Step: last, Sent: s.question(last).Sent(), Until: sc.LateUntil})
		}
	}
	for _, l := range c.Late {
		late := l.answer()
		if s := find(l.Sensor); s != nil && s.Query != nil && l.Step >= 0 && s.exchange.has(l.Step) {
			late.sensor, late.step, late.asked = s, l.Step, l.Asked
		}
		d.late = append(d.late, late)
	}
}

// state returns State, or what follows from the value if State is missing or contradicts it.
func (c sensorCheckpoint) state() state {
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

func (s *sensor) restore(c sensorCheckpoint) {
	held := s.Held
	copy(held, c.Held)
	s.interfaceState = c.interfaceState
	s.Held = held
	if !s.Value.Known() || c.Value.Known() && c.Since.After(s.Since) { // in older recordings each interface has its own
		*s.sensorState = c.sensorState
		s.State = c.state()
	}
	if s.pp != nil {
		s.pp.hidppState = c.hidppState
		s.pp.SoftwareID = cmp.Or(c.SoftwareID, hidppSoftware)
	}
	if s.exchange == nil {
		return
	}
	s.exchange.exchangeState = c.exchangeState
	if !s.exchange.waiting() || c.Step < 0 || !s.exchange.has(c.Step) { // in the last case the file is wrong
		s.exchange.end()
	}
}
