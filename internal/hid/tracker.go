package hid

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// Tracker applies the rules to all devices and holds the states. It is not safe for concurrent use.
// Every method that may change a reading returns whether it did; call Requests after it.
type Tracker struct {
	rules   *Rules
	devices []*trackedDevice // in the order of their nodes
	wasUp   map[unit]bool    // the link has been up since the unit was plugged in and the machine woke
	away    map[unit]time.Time
	owed    map[string][]lateAnswer // by node: that may still come when it is opened anew
	woke    time.Time               // when the machine last woke; zero: it has not slept
	changes changeFlags
}

// NewTracker returns a Tracker without devices.
func NewTracker(r *Rules) *Tracker {
	return &Tracker{
		rules: r, wasUp: make(map[unit]bool), away: make(map[unit]time.Time), owed: make(map[string][]lateAnswer),
		changes: changeFlags{softwareID: hidppSoftware - 1},
	}
}

// SetSoftwareID sets the software id, 1 to 15, of the first HID++ exchange; each further one has the next. Two programs that ask one
// device should begin with different ones, since its answers go to both.
func (t *Tracker) SetSoftwareID(id byte) {
	t.changes.softwareID = (id+maxSoftwareID-2)%maxSoftwareID + 1
}

// Apply handles an event; now is the time of the clock that Due and Expire use.
func (t *Tracker) Apply(e Event, now time.Time) (changed bool) {
	e = e.normalised(now)
	at := e.At
	d := t.deviceAt(e.Node)
	switch {
	case e.Kind == Attached || e.Kind == Denied:
		t.attach(e, at, now)
	case d == nil:
		return false
	case e.Kind == Gone || e.Kind == Failed:
		t.drop(d, at, now)
		if e.Kind == Failed {
			t.add(&trackedDevice{device: d.device, desc: d.desc, changes: &t.changes, plugged: d.plugged, denied: e.Why()})
		}
		if e.Error != "" { // other interfaces of the device may still be present
			t.askUnit(d, AtAttach, now, isForgotten)
		}
	case e.Kind == Report:
		t.handleReport(d, e, now)
	case e.Kind == Answer:
		d.handleAnswer(e.Request, e.Data, at, now)
	case e.Kind == Lost:
		t.noteAbsence(at, d.isOfUnit)
		// The last report of another interface may be older than a lost one.
		t.forgetAll(at, now, d.isOfUnit)
		if since := now.Sub(d.lost); since >= 0 && since < askGap {
			t.askSoon(now, d.isOfUnit) // do not query after each of many losses
			break
		}
		d.lost = now
		t.askUnit(d, AtResume, now, anySensor)
	}
	return t.reconcile(at, now)
}

func anySensor(*sensor) bool { return true }

// isForgotten reports whether the state is unknown and not being queried.
func isForgotten(s *sensor) bool {
	return !s.Value.Known() && (s.exchange == nil || !s.exchange.waiting())
}

func (t *Tracker) askUnit(d *trackedDevice, m Moment, now time.Time, which func(*sensor) bool) {
	for _, other := range t.devices {
		other.ask(m, now, func(s *sensor) bool { return d.isOfUnit(s) && which(s) })
	}
}

// askSoon schedules the queries of some sensors, as after a resume, at the end of the gap.
func (t *Tracker) askSoon(now time.Time, which func(*sensor) bool) {
	for _, d := range t.devices {
		for _, s := range d.sensors {
			if which(s) && s.asksAt(AtResume) {
				s.askSoon(now)
			}
		}
		d.askAgain(now)
	}
}

// isOfUnit reports whether a sensor, of any device, belongs to one of this device's units.
func (d *trackedDevice) isOfUnit(s *sensor) bool {
	return slices.ContainsFunc(d.sensors, func(mine *sensor) bool { return mine.unit == s.unit })
}

// drop removes a device.
func (t *Tracker) drop(d *trackedDevice, at, now time.Time) {
	t.noteAbsence(at, func(s *sensor) bool { return slices.Contains(d.sensors, s) })
	t.devices = slices.DeleteFunc(t.devices, func(o *trackedDevice) bool { return o == d })
	t.forgetAll(at, now, d.isOfUnit)
	if late := d.owes(now); len(late) > 0 {
		t.owed[d.device.Node] = late
	}
	for _, s := range d.sensors {
		delete(t.wasUp, s.unit)
	}
	t.updateDependencies(at, now)
	t.changes.readings = t.changes.readings || slices.ContainsFunc(d.sensors, (*sensor).isReading)
	t.changes.links = true
	t.updateLinks(at, now)
}

func (t *Tracker) attach(e Event, at, now time.Time) {
	if e.Device == nil {
		return
	}
	if before := t.deviceAt(e.Node); before != nil {
		t.drop(before, at, now)
	}
	d := &trackedDevice{device: *e.Device, desc: Describe(*e.Device), changes: &t.changes}
	d.device.Node = e.Node
	if e.Plugged {
		d.plugged = at
	} else {
		d.late = t.owed[e.Node]
	}
	delete(t.owed, e.Node)
	t.add(d)
	if e.Kind == Denied {
		d.denied = e.Why()
		return
	}
	d.sensors = t.sensorsOf(d)
	t.shareStates()
	t.changes.readings = t.changes.readings || slices.ContainsFunc(d.sensors, (*sensor).isReading)
	t.noteAbsence(at, func(s *sensor) bool {
		_, was := t.away[s.unit] // it was read before
		return was && slices.Contains(d.sensors, s)
	})
	if e.Plugged {
		for _, s := range d.sensors {
			if !s.isWireless(d.device) && !s.PressedSinceReset && !t.isWaking(at) {
				s.plugIn(at)
			}
		}
	}
	t.updateDependencies(at, now)
	for _, s := range d.sensors {
		t.invalidateDependents(s, at, now)
	}
	d.ask(AtAttach, now, anySensor)
	t.askUnit(d, AtAttach, now, isForgotten)
	for _, s := range d.sensors {
		t.askAnchors(s, AtAttach, now, now)
	}
}

// isWaking reports whether the machine woke shortly before. Devices are then enumerated anew that have kept their power.
func (t *Tracker) isWaking(at time.Time) bool {
	return !t.woke.IsZero() && at.Sub(t.woke).Abs() < wakeTime
}

// wakeTime is how long after the machine woke devices may be enumerated anew.
const wakeTime = 30 * time.Second

// shareStates gives the sensors of one rule on all interfaces of a unit one state.
func (t *Tracker) shareStates() {
	type control struct {
		unit
		path string
	}
	states := make(map[control]*sensorState)
	for _, s := range t.sensors() {
		if s.sensorState != nil {
			states[control{s.unit, s.Path}] = s.sensorState
		}
	}
	for _, s := range t.sensors() {
		c := control{s.unit, s.Path}
		if states[c] == nil {
			states[c] = &sensorState{State: unknown}
		}
		s.sensorState = states[c]
	}
}

// sensorsOf applies the rules to a device. Unchanged rules keep their state.
func (t *Tracker) sensorsOf(d *trackedDevice) []*sensor {
	var out []*sensor
	for _, rl := range t.rules.list {
		if !rl.fits(d.device, d.desc) {
			continue
		}
		may := always
		if rl.sends() {
			may = t.rules.addressing(rl, d.device)
		}
		if may == never {
			continue
		}
		s := newSensor(rl, d)
		if i := slices.IndexFunc(d.sensors, func(s *sensor) bool { return s.same(rl) }); i >= 0 {
			s = d.sensors[i]
		}
		s.Rule, s.unit, s.whileUp = rl, d.unitOf(rl), may == whileUp
		out = append(out, s)
	}
	return out
}

// Configure replaces the rules. Unchanged rules keep their state.
func (t *Tracker) Configure(r *Rules, now time.Time) (changed bool) {
	readings := t.Readings()
	t.rules = r
	fresh := make(map[*sensor]bool)
	for _, d := range t.devices {
		if d.denied != nil {
			continue
		}
		before := d.sensors
		d.sensors = t.sensorsOf(d)
		for _, s := range d.sensors {
			fresh[s] = !slices.Contains(before, s)
		}
		dropped := func(s *sensor) bool { return !slices.Contains(d.sensors, s) }
		d.queue = slices.DeleteFunc(d.queue, dropped)
		if s := d.conversation(); s != nil && dropped(s) {
			d.cancel(now)
		}
		d.forgetRules(dropped)
	}
	t.shareStates()
	t.updateDependencies(now, now)
	for _, s := range t.sensors() {
		if fresh[s] {
			for _, other := range t.invalidateDependents(s, now, now) {
				fresh[other] = true
			}
		}
	}
	t.setLinks(now)
	t.noteAbsence(now, func(s *sensor) bool { return fresh[s] })
	for _, d := range t.devices {
		d.ask(AtAttach, now, func(s *sensor) bool { return fresh[s] })
		for _, s := range d.sensors {
			if fresh[s] {
				t.askAnchors(s, AtAttach, now, now)
			}
		}
	}
	t.changes.readings = false
	return !slices.Equal(readings, t.Readings())
}

// Resume must be called after the machine has slept: it keeps only what devices have stated since it woke up, and repeats all
// queries.
func (t *Tracker) Resume(woke, now time.Time) (changed bool) {
	t.woke = woke
	for _, d := range t.devices {
		for _, s := range d.sensors {
			s.resume(woke, now)
		}
		d.stopAsking(now, anySensor)
	}
	t.setLinks(now)
	t.changes.links = false // states that depend on a link are forgotten already
	clear(t.wasUp)
	t.noteUp()
	for _, d := range t.devices {
		d.ask(AtResume, now, anySensor)
	}
	return t.reconcile(now, now)
}

// Due returns when to call Expire; zero: never.
func (t *Tracker) Due() time.Time {
	var due time.Time
	for _, d := range t.devices {
		if at := d.due(); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

// Expire handles timeouts of answers, pauses and debounce times that are over.
func (t *Tracker) Expire(now time.Time) (changed bool) {
	if due := t.Due(); due.IsZero() || now.Before(due) {
		return false
	}
	for _, d := range t.devices {
		d.expire(now)
	}
	return t.reconcile(now, now)
}

// Requests returns the requests to carry out, in order, and removes them.
func (t *Tracker) Requests() []Request {
	var out []Request
	for _, d := range t.devices {
		out = append(out, d.requests...)
		d.requests = nil
	}
	slices.SortStableFunc(out, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Readings returns the states of all rules, including unknown ones, in a fixed order.
func (t *Tracker) Readings() []devices.Reading {
	var out []devices.Reading
	for d, s := range t.sensors() {
		if !s.isReading() {
			continue
		}
		r := devices.Reading{Product: s.Product, Rule: s.Path, Container: d.device.Container, Serial: d.device.Serial, Value: s.Value}
		if s.Link {
			r.Away = t.away[s.unit]
		}
		if s.Value.Known() {
			r.Origin, r.Since = devices.Origin{Via: s.Via, Detail: cmp.Or(s.By, d.device.Node)}, s.Since
		}
		out = append(out, r)
	}
	return out
}

// sensors yields all sensors with their devices, in the order of the nodes.
func (t *Tracker) sensors() iter.Seq2[*trackedDevice, *sensor] {
	return func(yield func(*trackedDevice, *sensor) bool) {
		for _, d := range t.devices {
			for _, s := range d.sensors {
				if !yield(d, s) {
					return
				}
			}
		}
	}
}

// anySensorIs reports whether a sensor of any device meets a condition.
func (t *Tracker) anySensorIs(which func(*sensor) bool) bool {
	for _, d := range t.devices {
		if slices.ContainsFunc(d.sensors, which) {
			return true
		}
	}
	return false
}

// deviceAt returns the device of a node, or nil.
func (t *Tracker) deviceAt(node string) *trackedDevice {
	if i, ok := t.search(node); ok {
		return t.devices[i]
	}
	return nil
}

// add inserts a device, or replaces the one with the same node.
func (t *Tracker) add(d *trackedDevice) {
	i, there := t.search(d.device.Node)
	if !there {
		t.devices = slices.Insert(t.devices, i, nil)
	}
	t.devices[i] = d
}

func (t *Tracker) search(node string) (i int, there bool) {
	return slices.BinarySearchFunc(t.devices, node, func(d *trackedDevice, node string) int { return cmp.Compare(d.device.Node, node) })
}

// handleReport handles an input report: link states first, since a report that the link has come up often
// contains other states, too. It can only be the answer to a request from before it.
func (t *Tracker) handleReport(d *trackedDevice, e Event, now time.Time) {
	awaited, a := d.awaited(), e.arrival()
	links := func(s *sensor) bool { return s.Link }
	others := func(s *sensor) bool { return !s.Link }
	answered := d.takeAnswer(e.Data, awaited, links, a, now)
	d.handleReport(e.Data, links, answered, a, now)
	t.applyConsequences(e.At, now)
	if answered == nil {
		answered = d.takeAnswer(e.Data, awaited, others, a, now)
	}
	d.handleReport(e.Data, others, answered, a, now)
	if answered == nil { // what answers a question is no reason to ask another
		if !d.takeLate(e.Data, a, now) {
			d.listen(e)
		}
		d.checkAskOn(e.Data, now)
	}
	d.askAgain(now)
}

// reconcile applies all consequences, and returns whether a reading has changed.
func (t *Tracker) reconcile(at, now time.Time) (changed bool) {
	t.applyConsequences(at, now)
	changed, t.changes.readings = t.changes.readings, false
	return changed
}

// applyConsequences applies what the last event means for other sensors.
func (t *Tracker) applyConsequences(at, now time.Time) {
	if t.changes.heard {
		t.changes.heard = false
		t.updateDependencies(at, now)
	}
	if again := t.changes.pending.take(renewDependents); t.changes.pending.take(invalidateUnknown) || again {
		t.invalidateUnknown(at, now)
	}
	if t.changes.pending.take(renewProduct) {
		t.renewProducts(at, now)
	}
	if t.changes.pending.take(suspectAbsence) {
		t.noteAbsence(at, func(s *sensor) bool { return s.pending.take(suspectAbsence) })
	}
	if t.changes.pending.take(suspectLink) {
		t.suspectLinks(at, now)
	}
	if len(t.changes.pending) > 0 {
		t.applyAnchors(at, now)
		t.changes.pending = t.changes.pending[:0]
	}
	t.updateLinks(at, now)
}
