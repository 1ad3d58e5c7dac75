package hid

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// sensor is one rule applied to one device, with its state.
type sensor struct {
	*Rule
	unit    unit   // the unit that the device belongs to, by the rule
	node    string // of the device
	changes *changeFlags
	fields  []descriptor.Field // of a usage

	triggers [][]Test // of reports that make it query: all of one list

	*sensorState
	interfaceState
	pending consequences // yet to be applied
	note    health.Code  // why the descriptor and the rule keep the state from being known

	exchange          *exchange
	pp                *hidpp // of a hidpp source
	whileUp           bool   // it queries only while the link_state of its unit is true: another product may be there instead
	missingDependency bool   // none of the levels that its answer depends on is read, so it does not query
}

// sensorState is what is known of one rule on one unit: all interfaces of the unit share it. A checkpoint stores it with each of them.
type sensorState struct {
	Value    devices.Tri `json:"value"`
	Since    time.Time   `json:"since,omitzero"`
	By       string      `json:"by,omitempty"`    // the node of the interface that set the value
	StatedAt time.Time   `json:"stated,omitzero"` // when the device stated the value at the earliest; of an answer: when it was requested
	StatedOn route       `json:"stated_on,omitzero"`
	State    state       `json:"state,omitempty"`

	// Of toggles.
	Pressed           time.Time `json:"last_press,omitzero"`
	PressedSince      time.Time `json:"last_press_since,omitzero"` // when it was pressed at the earliest; zero: at Pressed
	PressedOn         route     `json:"last_press_on,omitzero"`
	PressedSinceReset bool      `json:"stirred,omitempty"` // pressed since the state was last forgotten
	Answered          time.Time `json:"answered,omitzero"` // when an anchor set the state
	AnsweredOn        route     `json:"answered_on,omitzero"`

	Next      devices.Tri `json:"next,omitzero"` // a level within its debounce time
	NextSince time.Time   `json:"next_since,omitzero"`
	NextOn    route       `json:"next_on,omitzero"`
	Due       time.Time   `json:"due,omitzero"` // when Next counts; zero: there is none

	OutdatedAt time.Time `json:"outdated,omitzero"` // when a level that must be repeated is no longer known; zero: never

	Doubted   time.Time `json:"doubted,omitzero"`   // when a report first said that it may have changed since; zero: none has
	Triggered time.Time `json:"triggered,omitzero"` // when a report last said so
}

// interfaceState is what a checkpoint stores of one rule on one interface.
type interfaceState struct {
	Held  []devices.Tri `json:"held"`            // whether the absolute button is held down, by field
	Heard *heard        `json:"heard,omitempty"` // the last level that was reported unasked; nil: none was

	AskAgainAt time.Time `json:"ask_again,omitzero"` // when to query again; zero: never
	LastAsked  time.Time `json:"last_asked,omitzero"`
}

func newSensor(rl *Rule, d *trackedDevice) *sensor {
	s := &sensor{Rule: rl, changes: d.changes, node: d.device.Node}
	switch {
	case rl.Usage != nil:
		s.fields = rl.Usage.fields(d.desc)
	case rl.Query != nil:
		q, triggers, _ := rl.Query.resolve(d.desc)
		s.exchange, s.triggers = &exchange{script: &query{q, d.device.Node, d.desc}}, triggers
	case rl.HIDPP != nil:
		s.pp = &hidpp{PPFeature: *rl.HIDPP, framing: rl.HIDPP.framing(d.desc), node: d.device.Node, next: d.changes.nextSoftwareID}
		s.exchange = &exchange{script: s.pp}
		if len(rl.HIDPP.AskOn) > 0 {
			s.triggers = [][]Test{rl.HIDPP.AskOn}
		}
	}
	s.note = s.descriptorNote(d.desc)
	s.setHeld(devices.False)
	return s
}

// asksAt reports whether the rule queries the device at this moment.
func (s *sensor) asksAt(m Moment) bool {
	return s.exchange != nil && !s.missingDependency && (s.Query == nil || s.Query.At == nil || slices.Contains(s.Query.At, m))
}

// plugIn sets a toggle to the state in which the firmware starts when the device is plugged in.
func (s *sensor) plugIn(at time.Time) {
	if a := s.Anchor; a != nil && a.Start != nil {
		s.start(*a.Start, at)
		s.StatedAt, s.StatedOn = at, route{}
	}
}

// linkUp sets a toggle to the state in which the firmware starts when its headset is switched on. It leaves statedAt:
// the link may have been down only before the machine slept.
func (s *sensor) linkUp(at time.Time) {
	if a := s.Anchor; a != nil && a.LinkUp != nil {
		s.start(*a.LinkUp, at)
	}
}

// start sets the start state of a toggle whose presses can be told.
func (s *sensor) start(v bool, at time.Time) {
	if s.note == health.HIDControlIllegal {
		return
	}
	s.enter(onStarted, devices.Of(v), at)
	s.setHeld(devices.False)
}

// resume forgets what the device stated, or may have stated, before the machine woke up.
func (s *sensor) resume(woke, at time.Time) {
	started := s.StatedOn == route{} // and it has not stated anything since
	if s.StatedAt.After(woke) && (!started || !s.StatedAt.Before(woke.Add(wakeTime))) {
		return
	}
	due := s.Due
	s.forget(at)
	if !due.IsZero() && cmp.Or(s.NextSince, due.Add(-s.Debounce)).After(woke) {
		s.Due = due
	}
}

// forget makes the state unknown, because it may have changed unnoticed.
func (s *sensor) forget(at time.Time) {
	s.enter(onForgotten, devices.Unknown, at)
	s.Due, s.AskAgainAt, s.Answered, s.StatedAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}
	s.OutdatedAt, s.Doubted = time.Time{}, time.Time{}
	s.PressedSinceReset = false
	s.setHeld(devices.Unknown)
	s.pollAgain(at)
}

func (s *sensor) setHeld(v devices.Tri) {
	s.Held = slices.Repeat([]devices.Tri{v}, max(len(s.fields), 1))
}

func (s *sensor) set(v devices.Tri, at time.Time) {
	if s.Value == v {
		return
	}
	s.Value, s.Since, s.By = v, at, s.node
	s.noteChange()
}

// noteChange tells the Tracker that the state has changed.
func (s *sensor) noteChange() {
	s.changes.readings = s.changes.readings || s.isReading()
	s.changes.links = s.changes.links || s.Link
}

// isReading reports whether its state is a reading, rather than an anchor of a toggle.
func (s *sensor) isReading() bool { return s.AnchorOf == "" }

// update handles a state that the device has stated, at the time stated at the earliest. A repeated state still matters to the toggles of
// an anchor.
func (s *sensor) update(v devices.Tri, a arrival, stated time.Time) {
	on := onStated
	switch {
	case !v.Known():
		on = onUnrecognised
	case v == s.Value && !s.Doubted.IsZero() && !stated.Before(s.Doubted):
		on = onConfirmed
	}
	s.enter(on, v, a.at)
	s.StatedAt, s.StatedOn = stated, a.route
	if s.Doubted.IsZero() || stated.Before(s.Doubted) {
		return
	}
	s.Doubted = time.Time{}
	if stated.Before(s.Triggered) {
		s.Doubted = s.Triggered
	}
}

// handleReport handles an input report.
func (s *sensor) handleReport(data []byte, a arrival, now time.Time) {
	switch {
	case s.Usage != nil:
		s.usage(data, a, now)
	case s.Report != nil:
		s.report(data, a, now)
	case s.pp != nil:
		if v, ok := s.pp.statement(data); ok {
			s.update(v, a, a.since)
		}
	}
}

func (s *sensor) usage(data []byte, a arrival, now time.Time) {
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
				one = devices.Unknown // many devices declare padding as further copies of the last control
			}
			level, shown = one, true
		case descriptor.Momentary:
			if !f.Relative {
				s.button(i, v != 0, a)
			} else if v != 0 {
				s.press(a)
			}
		case descriptor.Buttons:
			if v != 0 {
				s.level(devices.Of((v > 0) != s.Usage.Invert), a, now)
			}
		}
	}
	if shown {
		s.level(level, a, now)
	}
}

func (s *sensor) report(data []byte, a arrival, now time.Time) {
	r := s.Report
	if !r.appliesTo(data) {
		return
	}
	if r.Value == nil {
		s.press(a)
		return
	}
	v, ok := r.Value.decode(data)
	switch {
	case !ok:
	case r.Toggle:
		s.button(0, v == devices.True, a)
	default:
		s.level(v, a, now)
	}
}

// button handles whether a button is held down. A press is the change from not held to held; if the
// state before is unknown, it may or may not be a press.
func (s *sensor) button(i int, down bool, a arrival) {
	was := s.Held[i]
	s.Held[i] = devices.Of(down)
	switch {
	case !down:
	case was == devices.False:
		s.press(a)
	case was == devices.Unknown:
		s.enter(onHeld, devices.Unknown, a.at)
	}
}

// level handles a level that the device reports. It counts once its debounce time is over.
func (s *sensor) level(v devices.Tri, a arrival, now time.Time) {
	if s.MaxAge != 0 {
		s.OutdatedAt = a.at.Add(s.MaxAge)
	}
	switch {
	case v == s.Value || s.Debounce == 0:
		s.Due = time.Time{}
		s.update(v, a, a.since)
	case s.Due.IsZero() || s.Next != v:
		s.Next, s.NextSince, s.NextOn, s.Due = v, a.since, a.route, now.Add(s.Debounce)
	}
}

// maxDoubt is how long a state stays as it was after the device has said that it may have changed.
const maxDoubt = 2 * time.Second

// expire applies a level whose debounce time is over, and forgets a state that was not repeated in time or has been in doubt for too long.
func (s *sensor) expire(now time.Time) {
	if !s.Due.IsZero() && !now.Before(s.Due) {
		stated := s.Due
		if !s.NextSince.IsZero() {
			stated = s.NextSince.Add(s.Debounce)
		}
		due := s.Due
		s.Due = time.Time{}
		s.update(s.Next, arrival{stated, due, s.NextOn}, stated)
	}
	if !s.Doubted.IsZero() && !now.Before(s.Doubted.Add(maxDoubt)) {
		s.Doubted = time.Time{}
		s.enter(onDoubted, devices.Unknown, now)
	}
	if !s.OutdatedAt.IsZero() && !now.Before(s.OutdatedAt) {
		s.enter(onOutdated, devices.Unknown, s.OutdatedAt)
		s.OutdatedAt = time.Time{}
	}
}

// askGap is the minimum time between a query and another one triggered by a report, in case the device
// answers with just such a report.
const askGap = 200 * time.Millisecond

// checkAskOn queries the device again if a report is a trigger for that.
func (s *sensor) checkAskOn(data []byte, now time.Time) {
	if s.pp != nil && s.pp.isSecondLookup(data) {
		s.pp.forgetIndex()
		s.changes.heard = true
		s.doubt(now)
	}
	if s.pp != nil && s.pp.isConnectionNotice(data) {
		s.doubt(now)
	}
	back := s.pp != nil && !s.missingDependency && !s.exchange.waiting() && s.pp.isBack(data, s.exchange.Silent)
	if triggered := slices.ContainsFunc(s.triggers, func(tests []Test) bool { return meets(data, tests) }); back || triggered {
		s.Triggered = now
		if triggered || !s.isStatedElsewhere() {
			s.Doubted = cmp.Or(s.Doubted, now)
			s.entail(suspectAbsence)
		}
		s.askSoon(now)
	}
}

// isStatedElsewhere reports whether another interface of the unit has stated the state: what this one says or does not say of it is no
// news.
func (s *sensor) isStatedElsewhere() bool { return s.StatedOn.Node != "" && s.StatedOn.Node != s.node }

// doubt makes the state unknown, and asks for it unless it may not be asked for.
func (s *sensor) doubt(now time.Time) {
	s.enter(onUnconfirmed, devices.Unknown, now)
	s.entail(suspectAbsence)
	if !s.missingDependency {
		s.askSoon(now)
	}
}

// askSoon schedules another query, now or at the end of the gap (unless the clock was set back).
func (s *sensor) askSoon(now time.Time) {
	s.AskAgainAt = now
	if since := now.Sub(s.LastAsked); since >= 0 && since < askGap {
		s.AskAgainAt = s.LastAsked.Add(askGap)
	}
}

// unconfirmed handles an answer without a state. At the end of the exchange the state is unknown, because
// it may have been queried just because it had changed.
func (s *sensor) unconfirmed(at time.Time) {
	if s.exchange.waiting() || s.Query == nil && len(s.HIDPP.Events) > 0 {
		return
	}
	if !s.isStatedElsewhere() {
		on := onUnconfirmed
		if s.isReading() && !s.Doubted.IsZero() {
			on = onDoubted
		}
		s.enter(on, devices.Unknown, at)
	}
	if s.isReading() {
		s.Doubted = time.Time{}
	}
}

// pollAgain schedules the next poll after an exchange has ended or was cancelled. While its link is known to be down, a product is not
// reported, so its states are not polled.
func (s *sensor) pollAgain(now time.Time) {
	isDown := !s.Link && s.changes.linkStates[s.unit] == devices.False
	if s.Query != nil && s.Query.Poll != 0 && s.AskAgainAt.IsZero() && !s.LastAsked.IsZero() && !isDown {
		s.AskAgainAt = now.Add(s.Query.Poll)
	}
}

// statusNote returns why the state is not known, or "".
func (s *sensor) statusNote() health.Code {
	switch {
	case s.pp != nil && s.pp.Lacks:
		return health.HIDFeatureMissing
	case s.missingDependency:
		return health.HIDChangesUntold
	case s.exchange != nil && s.exchange.Silent && !s.Value.Known():
		return health.HIDSilent
	}
	return s.note
}
