package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
)

// sensor is one rule applied to one device: what it has read, and what it needs to go on.
type sensor struct {
	*rule
	device *Device
	fields []Field // of a hid_usage

	value devices.Tri
	since time.Time
	note  string // what stands in the way, for people

	pressed  map[int]bool // toggles that show a level: which of them are held, by field
	lastTime time.Time    // of the last press
	next     devices.Tri  // a level that has yet to last
	due      time.Time    // until when; zero: there is none

	talk *exchange
	pp   *hidpp // of a hidpp source
}

func newSensor(rl *rule, d *Device, desc *Descriptor) *sensor {
	s := &sensor{rule: rl, device: d, pressed: make(map[int]bool)}
	q := rl.HIDQuery
	if a := rl.anchor(); a != nil {
		q = a.HIDQuery
	}
	switch {
	case q != nil:
		s.talk = &exchange{script: &query{*q, d.Node, desc}}
	case rl.HIDPP != nil:
		s.pp = &hidpp{HIDPP: *rl.HIDPP, node: d.Node}
		s.talk = &exchange{script: s.pp}
	}
	if rl.HIDUsage != nil {
		s.fields = usageFields(*rl.HIDUsage, desc)
		if slices.ContainsFunc(s.fields, func(f Field) bool { return kindOf(*rl.HIDUsage, f) == "" }) {
			s.note = "its report descriptor declares this control in none of the three legal forms: say in the catalogue what it really does (kind)"
		} else if rl.HIDUsage.Anchor == nil && slices.ContainsFunc(s.fields, func(f Field) bool { return kindOf(*rl.HIDUsage, f) == devices.HIDToggle }) {
			s.note = "the device sends presses and no state: without an anchor in the catalogue the state stays unknown"
		}
	}
	return s
}

// asksAt reports whether the rule asks the device at this moment.
func (s *sensor) asksAt(m devices.Moment) bool {
	if s.talk == nil {
		return false
	}
	q := s.HIDQuery
	if a := s.anchor(); a != nil {
		q = a.HIDQuery
	}
	return q == nil || q.At == nil || slices.Contains(q.At, m)
}

// reset puts a toggle where the firmware puts it at this moment.
func (s *sensor) reset(at time.Time) {
	if a := s.anchor(); a != nil && a.Start != nil {
		s.set(devices.Of(*a.Start), at)
	}
}

// forget makes the state unknown: what has happened since may have changed it.
func (s *sensor) forget(at time.Time) {
	s.set(devices.Unknown, at)
	s.due = time.Time{}
	clear(s.pressed)
}

func (s *sensor) set(v devices.Tri, at time.Time) {
	if s.value != v {
		s.value, s.since = v, at
	}
}

// hear takes an input report.
func (s *sensor) hear(data []byte, at, now time.Time) {
	switch {
	case s.HIDUsage != nil:
		s.usage(data, at, now)
	case s.HIDReport != nil:
		s.report(data, at, now)
	case s.pp != nil:
		if v, ok := s.pp.event(data); ok {
			s.set(v, at)
		}
	}
	if a := s.anchor(); a != nil && a.HIDReport != nil && concerns(*a.HIDReport, data) {
		if v := valueOf(data, *a.HIDReport.Value); v.Known() {
			s.set(v, at)
		}
	}
}

func (s *sensor) usage(data []byte, at, now time.Time) {
	u := *s.HIDUsage
	for i, f := range s.fields {
		v, ok := f.Value(data)
		if !ok {
			continue
		}
		switch kindOf(u, f) {
		case devices.HIDLevel:
			s.level(devices.Of((v != 0) != u.Invert), u.DebounceMS, at, now)
		case devices.HIDToggle:
			if s.edge(i, v != 0) || f.Relative && v != 0 {
				s.press(u.DebounceMS, at)
			}
		case devices.HIDButtons:
			if v != 0 {
				s.level(devices.Of((v > 0) != u.Invert), u.DebounceMS, at, now)
			}
		}
	}
}

func (s *sensor) report(data []byte, at, now time.Time) {
	r := *s.HIDReport
	if !concerns(r, data) {
		return
	}
	if r.Kind != devices.HIDToggle {
		s.level(valueOf(data, *r.Value), r.DebounceMS, at, now)
		return
	}
	if r.Value == nil || s.edge(0, valueOf(data, *r.Value) == devices.True) {
		s.press(r.DebounceMS, at)
	}
}

// edge reports whether a button that shows a level has been pressed down.
func (s *sensor) edge(button int, down bool) bool {
	was := s.pressed[button]
	s.pressed[button] = down
	return down && !was
}

// press turns a toggle whose state is known. Contacts bounce: what follows too soon is the same press.
func (s *sensor) press(debounce int, at time.Time) {
	if debounce > 0 && !s.lastTime.IsZero() && at.Sub(s.lastTime) < milliseconds(debounce, 0) {
		return
	}
	s.lastTime = at
	s.set(s.value.Not(), at)
}

// level takes a state that the device shows. One that has yet to last counts later; what the
// device does not tell does not change anything.
func (s *sensor) level(v devices.Tri, debounce int, at, now time.Time) {
	switch {
	case !v.Known():
	case v == s.value:
		s.due = time.Time{}
	case debounce == 0:
		s.set(v, at)
	case s.due.IsZero() || s.next != v:
		s.next, s.due = v, now.Add(milliseconds(debounce, 0))
	}
}

// expire lets a level count that has lasted long enough.
func (s *sensor) expire(now time.Time) {
	if !s.due.IsZero() && !now.Before(s.due) {
		s.set(s.next, s.due)
		s.due = time.Time{}
	}
}

// remark is what stands in the way of a known state, for people.
func (s *sensor) remark() string {
	if s.talk != nil && s.talk.silent && !s.value.Known() {
		return "the device did not answer the request of this rule"
	}
	return s.note
}
