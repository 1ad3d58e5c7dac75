package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// sensor is one rule applied to one device: what it has read, and what it needs to go on.
type sensor struct {
	*Rule
	unit    unit // that the device is a part of, by the rule
	changes *changeFlags
	fields  []descriptor.Field // of a usage

	state    state
	value    devices.Tri
	since    time.Time
	statedAt time.Time    // when the device stated what is known, and not only that it has changed; of an answer, when it was asked
	pending  consequences // what has happened and is yet to be applied
	note     health.Code  // what its descriptor and its rule put in the way

	held              []devices.Tri // a toggle whose button shows a level: whether it is held down, by field
	pressed           time.Time     // a toggle: the last press
	pressedSinceReset bool          // a toggle: pressed since all was forgotten
	answered          time.Time     // a toggle: when it was set by an answer that comes on another way than presses

	next devices.Tri // a level that has yet to last
	due  time.Time   // until when; zero: there is none

	exchange          *exchange
	pp                *hidpp    // of a hidpp source
	askAgainAt        time.Time // when to ask once more; zero: there is no cause
	lastAsked         time.Time // when it was asked last
	missingDependency bool      // an answer: none of the levels that it depends on is read, so it is not asked
}

func newSensor(rl *Rule, d *trackedDevice) *sensor {
	s := &sensor{Rule: rl, changes: d.changes, state: unknown}
	switch {
	case rl.Usage != nil:
		s.fields = rl.Usage.fields(d.desc)
		s.note = s.usageNote(d.desc)
	case rl.Query != nil:
		s.exchange = &exchange{script: &query{*rl.Query, d.device.Node, d.desc}}
	case rl.HIDPP != nil:
		s.pp = &hidpp{PPFeature: *rl.HIDPP, node: d.device.Node}
		s.exchange = &exchange{script: s.pp}
	}
	s.setHeld(devices.False)
	return s
}

// The mute lamp of a headset (HID Usage Tables, section 11).
const (
	pageLED  = 0x08
	usageLED = 0x09 // Mute
)

// usageNote is what stands in the way of knowing the state of a control.
func (s *sensor) usageNote(desc *descriptor.Descriptor) health.Code {
	has := func(form descriptor.Control) bool {
		return slices.ContainsFunc(s.fields, func(f descriptor.Field) bool { return s.Usage.form(f) == form })
	}
	switch {
	case has(""):
		return health.HIDControlIllegal
	case s.Anchor == nil && has(descriptor.Momentary):
		return health.HIDAnchorMissing
	case s.Usage.Request && has(descriptor.Momentary) && len(desc.Find(descriptor.Output, pageLED, usageLED)) > 0:
		return health.HIDMuteLamp
	}
	return ""
}

// asksAt reports whether the rule asks the device at this moment.
func (s *sensor) asksAt(m Moment) bool {
	return s.exchange != nil && !s.missingDependency && (s.Query == nil || s.Query.At == nil || slices.Contains(s.Query.At, m))
}

// plugIn puts a toggle where the firmware puts it when the device is plugged in.
func (s *sensor) plugIn(at time.Time) {
	if a := s.Anchor; a != nil && a.Start != nil {
		s.start(*a.Start, at)
		s.statedAt = at
	}
}

// linkUp puts a toggle where the firmware puts it when its headset is switched on. That the link was down before
// may be what was known before the machine slept, so nothing is stated by that.
func (s *sensor) linkUp(at time.Time) {
	if a := s.Anchor; a != nil && a.LinkUp != nil {
		s.start(*a.LinkUp, at)
	}
}

func (s *sensor) start(v bool, at time.Time) {
	s.enter(onStarted, devices.Of(v), at)
	s.setHeld(devices.False)
}

// wake forgets what the device stated before the machine woke.
func (s *sensor) wake(woke, at time.Time) {
	if s.statedAt.After(woke) {
		return
	}
	next, due := s.next, s.due
	s.forget(at)
	if !due.IsZero() && due.Add(-s.Debounce).After(woke) {
		s.next, s.due = next, due
	}
}

// forget makes the state unknown: what has happened since may have changed it.
func (s *sensor) forget(at time.Time) {
	s.enter(onForgotten, devices.Unknown, at)
	s.due, s.askAgainAt, s.answered, s.statedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.pressedSinceReset = false
	s.setHeld(devices.Unknown)
	s.pollAgain(at)
}

func (s *sensor) setHeld(v devices.Tri) {
	s.held = slices.Repeat([]devices.Tri{v}, max(len(s.fields), 1))
}

func (s *sensor) set(v devices.Tri, at time.Time) {
	if s.value == v {
		return
	}
	s.value, s.since = v, at
	s.noteChange()
}

// noteChange tells the Tracker that what is known is not what it was.
func (s *sensor) noteChange() {
	s.changes.readings = s.changes.readings || s.isReading()
	s.changes.links = s.changes.links || s.Link
}

// isReading reports whether what it knows is a reading: what an anchor knows is its toggle's affair.
func (s *sensor) isReading() bool { return s.AnchorOf == "" }

// update takes a state that the device has stated. An anchor that tells the same again is news to its toggles, and
// a level that does may be news after what another interface has told.
func (s *sensor) update(v devices.Tri, at time.Time) {
	on := onStated
	switch {
	case !v.Known():
		on = onUnrecognised
	case v == s.value:
		on = onRepeated
	}
	s.enter(on, v, at)
	s.statedAt = at
}

// handleReport takes an input report.
func (s *sensor) handleReport(data []byte, at, now time.Time) {
	switch {
	case s.Usage != nil:
		s.usage(data, at, now)
	case s.Report != nil:
		s.report(data, at, now)
	case s.pp != nil:
		if v, ok := s.pp.event(data); ok {
			s.update(v, at)
		}
	}
}

func (s *sensor) usage(data []byte, at, now time.Time) {
	var level devices.Tri
	shown := false
	for i, f := range s.fields {
		v, ok := f.Value(data)
		if !ok {
			continue
		}
		switch s.Usage.form(f) {
		case descriptor.Level:
			one := devices.Of((v != 0) != s.Usage.Invert)
			if shown && one != level {
				one = devices.Unknown // many declare padding as more of the last control, so nobody knows which field it is
			}
			level, shown = one, true
		case descriptor.Momentary:
			if !f.Relative {
				s.button(i, v != 0, at)
			} else if v != 0 {
				s.press(at)
			}
		case descriptor.Buttons:
			if v != 0 {
				s.level(devices.Of((v > 0) != s.Usage.Invert), at, now)
			}
		}
	}
	if shown {
		s.level(level, at, now)
	}
}

func (s *sensor) report(data []byte, at, now time.Time) {
	r := s.Report
	if !r.concerns(data) {
		return
	}
	if r.Value == nil {
		s.press(at)
		return
	}
	v, ok := r.Value.of(data)
	switch {
	case !ok:
	case r.Toggle:
		s.button(0, v == devices.True, at)
	default:
		s.level(v, at, now)
	}
}

// button takes whether a button is held down. A press is the change from not held to held; if
// nobody knows what was before, nobody knows whether this is one.
func (s *sensor) button(i int, down bool, at time.Time) {
	was := s.held[i]
	s.held[i] = devices.Of(down)
	switch {
	case !down:
	case was == devices.False:
		s.press(at)
	case was == devices.Unknown:
		s.enter(onHeld, devices.Unknown, at)
	}
}

// press turns a toggle whose state is known. Contacts bounce: what follows too soon is the same
// press. A clock that has been set back says nothing.
func (s *sensor) press(at time.Time) {
	if since := at.Sub(s.pressed); since >= 0 && since < s.Debounce {
		return
	}
	s.pressed, s.pressedSinceReset = at, true
	if at.Sub(s.answered).Abs() < askGap { // a press may also be told after the answer that came after it
		s.enter(onPressedLate, devices.Unknown, at)
		return
	}
	s.enter(onPressed, s.value.Not(), at)
}

// level takes a state that the device shows. One that has yet to last counts later.
func (s *sensor) level(v devices.Tri, at, now time.Time) {
	switch {
	case v == s.value || s.Debounce == 0:
		s.due = time.Time{}
		s.update(v, at)
	case s.due.IsZero() || s.next != v:
		s.next, s.due = v, now.Add(s.Debounce)
	}
}

// expire lets a level count that has lasted long enough.
func (s *sensor) expire(now time.Time) {
	if !s.due.IsZero() && !now.Before(s.due) {
		s.update(s.next, s.due)
		s.due = time.Time{}
	}
}

// askGap is the least time between a question and the next one that a report of the device has given
// cause to: one that answers with such a report must not be asked without a pause.
const askGap = 200 * time.Millisecond

// checkAskOn looks whether a report gives cause to ask again.
func (s *sensor) checkAskOn(data []byte, now time.Time) {
	var causes []Test
	switch {
	case s.Query != nil:
		causes = s.Query.AskOn
	case s.HIDPP != nil:
		causes = s.HIDPP.AskOn
	}
	if s.pp != nil && s.pp.isConnectionNotice(data) {
		s.enter(onUnconfirmed, devices.Unknown, now)
		if !s.missingDependency {
			s.askSoon(now)
		}
	}
	back := s.pp != nil && !s.missingDependency && !s.exchange.waiting && s.pp.isBack(data, s.exchange.silent)
	if back || len(causes) > 0 && meets(data, causes) {
		s.askSoon(now)
	}
}

// askSoon has the device asked once more, now or at the end of the gap. A clock that has been set back says nothing.
func (s *sensor) askSoon(now time.Time) {
	s.askAgainAt = now
	if since := now.Sub(s.lastAsked); since >= 0 && since < askGap {
		s.askAgainAt = s.lastAsked.Add(askGap)
	}
}

// unconfirmed is for a request whose answer has told no state. At the end of a query nothing is known:
// what was known before may have been asked about because it has changed.
func (s *sensor) unconfirmed(at time.Time) {
	if !s.exchange.waiting && (s.Query != nil || s.HIDPP.Event == nil) {
		s.enter(onUnconfirmed, devices.Unknown, at)
	}
}

// pollAgain is for a conversation that is over, or broken off: what nothing tells of is asked for again after a while.
func (s *sensor) pollAgain(now time.Time) {
	if s.Query != nil && s.Query.Poll != 0 && s.askAgainAt.IsZero() && !s.lastAsked.IsZero() {
		s.askAgainAt = now.Add(s.Query.Poll)
	}
}

// statusNote is what stands in the way of a known state.
func (s *sensor) statusNote() health.Code {
	switch {
	case s.pp != nil && s.pp.lacks:
		return health.HIDFeatureMissing
	case s.missingDependency:
		return health.HIDChangesUntold
	case s.exchange != nil && s.exchange.silent && !s.value.Known():
		return health.HIDSilent
	}
	return s.note
}
