package hid

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// trackedDevice is a present device with its sensors.
type trackedDevice struct {
	device  Device
	desc    *descriptor.Descriptor // nil: invalid
	denied  *health.Condition      // why it cannot be read; nil: it can
	plugged time.Time              // when it was seen to be plugged in; zero: it may have been there for long
	sensors []*sensor

	asking *sensor   // whose exchange is under way; a device has one at a time
	first  uint64    // ID of its first request; 0: not known
	asked  uint64    // ID of its last request
	queue  []*sensor // whose exchanges come next
	lost   time.Time // when it was last queried because reports were lost

	late     []lateAnswer // that may still come, to questions that were given up: the oldest first
	answered time.Time    // when what may be one of them last came

	changes  *changeFlags
	requests []Request
}

// changeFlags is where devices and sensors record changes for their Tracker, and what they all have in common.
type changeFlags struct {
	linkStates map[unit]devices.Tri // of the units that have a link_state

	requests   uint64       // ID of the last request
	softwareID byte         // that of the last HID++ exchange; 0: of an old recording, when there was only one
	readings   bool         // a reading has changed
	heard      bool         // a level can be heard now, or cannot any more
	links      bool         // a sensor of a link_state has changed
	pending    consequences // of all sensors
}

// nextSoftwareID returns the software id of the next HID++ exchange, which the answers to its requests repeat.
func (c *changeFlags) nextSoftwareID() byte {
	if c.softwareID == 0 {
		return hidppSoftware
	}
	c.softwareID = c.softwareID%maxSoftwareID + 1
	return c.softwareID
}

// unit identifies one physical product by its HID devices.
type unit struct{ product, identity string }

func (u unit) compare(v unit) int {
	return cmp.Or(cmp.Compare(u.product, v.product), cmp.Compare(u.identity, v.identity))
}

// unitOf returns the unit that the device belongs to, by a rule.
func (d *trackedDevice) unitOf(rl *Rule) unit {
	if rl.BySerial {
		return unit{rl.Product, cmp.Or(d.device.Serial, d.device.Container, d.device.Node)}
	}
	return unit{rl.Product, cmp.Or(d.device.Container, d.device.Serial, d.device.Node)}
}

// ask starts the exchange of every sensor that queries at this moment, unless its first request is still
// to be sent.
func (d *trackedDevice) ask(m Moment, now time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if s.asksAt(m) && which(s) {
			d.enqueue(s)
		}
	}
	d.proceed(now)
}

func (d *trackedDevice) enqueue(s *sensor) {
	if slices.Contains(d.queue, s) || d.isRequestPending(s) || s.whileUp && d.changes.linkStates[s.unit] != devices.True {
		return
	}
	place := len(d.queue)
	if s.Urgent {
		if i := slices.IndexFunc(d.queue, func(other *sensor) bool { return !other.Link && !other.Urgent }); i >= 0 {
			place = i
		}
	}
	d.queue = slices.Insert(d.queue, place, s)
}

// isRequestPending reports whether the first request of a sensor's exchange is still to be sent.
func (d *trackedDevice) isRequestPending(s *sensor) bool {
	return d.conversation() == s && slices.ContainsFunc(d.requests, func(r Request) bool { return r.ID == d.first })
}

func (d *trackedDevice) isAsked(r Request) bool { return r.ID == d.asked }

// conversation returns the sensor whose exchange is under way, or nil.
func (d *trackedDevice) conversation() *sensor {
	if d.asking == nil || !d.asking.exchange.waiting() {
		return nil
	}
	return d.asking
}

// proceed starts the next exchange if none is under way.
func (d *trackedDevice) proceed(now time.Time) {
	for d.conversation() == nil && len(d.queue) > 0 {
		d.asking, d.queue = d.queue[0], d.queue[1:]
		d.asking.LastAsked, d.first = now, 0
		d.send(d.asking, d.asking.exchange.goTo(0, now))
	}
}

// send sends the next requests of a sensor's exchange. An answer is expected to the last one, unless there is a pause before the next.
func (d *trackedDevice) send(s *sensor, requests []Request) {
	d.asked = 0
	for _, r := range requests {
		d.changes.requests++
		r.ID = d.changes.requests
		d.first = cmp.Or(d.first, r.ID)
		d.requests = append(d.requests, r)
		if s.exchange.waiting() && s.exchange.PausedUntil.IsZero() {
			d.asked = r.ID
		}
	}
}

// cancel ends the exchange under way. Requests that were not sent yet are dropped.
func (d *trackedDevice) cancel(now time.Time) {
	if s := d.conversation(); s != nil {
		d.expectLate(s)
		s.exchange.end()
		d.requests = nil
	}
}

// awaited returns the ID of the request whose answer may arrive as an input report; 0: none.
func (d *trackedDevice) awaited() uint64 {
	if s := d.conversation(); s != nil && s.exchange.answered(s.exchange.Step) == byReport {
		return d.asked
	}
	return 0
}

// takeAnswer takes an input report as the answer to the awaited request, if that is of one of some sensors and the report can be its
// answer. It returns the sensor, or nil.
func (d *trackedDevice) takeAnswer(data []byte, awaited uint64, which func(*sensor) bool, a arrival, now time.Time) *sensor {
	if s := d.conversation(); s != nil && which(s) && awaited != 0 && d.asked == awaited && d.answer(s, data, a, now) {
		return s
	}
	return nil
}

// handleReport passes an input report to some sensors, but not to the one that has taken it as its answer.
func (d *trackedDevice) handleReport(data []byte, which func(*sensor) bool, answered *sensor, a arrival, now time.Time) {
	for _, s := range d.sensors {
		if which(s) && s != answered {
			s.handleReport(data, a, now)
		}
	}
}

// checkAskOn queries those sensors again that a report is a trigger for.
func (d *trackedDevice) checkAskOn(data []byte, now time.Time) {
	for _, s := range d.sensors {
		s.checkAskOn(data, now)
	}
}

// askAgain starts the queries that are due.
func (d *trackedDevice) askAgain(now time.Time) {
	for _, s := range d.sensors {
		if s.AskAgainAt.IsZero() || now.Before(s.AskAgainAt) {
			continue
		}
		s.AskAgainAt = time.Time{}
		if d.isRequestPending(s) {
			s.LastAsked = now // it is sent after what has triggered it
		}
		d.enqueue(s)
	}
	d.proceed(now)
}

// handleAnswer handles the report that was read by a request, or nil if that has failed.
func (d *trackedDevice) handleAnswer(request uint64, data []byte, at, now time.Time) {
	s := d.conversation()
	if s == nil || request != d.asked {
		return
	}
	a := arrival{s.LastAsked, at, route{Node: d.device.Node, Read: true}}
	switch {
	case data != nil && s.exchange.answered(s.exchange.Step) == byReport: // it has been set, and its answer may be on its way
	case data != nil && d.answer(s, data, a, now):
	case data != nil && s.exchange.startOver(s.LastAsked, now):
		d.asked = 0
	default:
		d.expectLate(s) // also what the system could not confirm to be sent may have been
		s.exchange.end()
		d.unanswered(s, now)
	}
}

// answer handles data that may be the awaited answer, and returns whether it is.
func (d *trackedDevice) answer(s *sensor, data []byte, a arrival, now time.Time) bool {
	if s.exchange.isBusy(s.exchange.Step, data) {
		if s.exchange.retry(now) {
			d.asked = 0
			return true
		}
		return false
	}
	v, ok := s.exchange.answer(s.exchange.Step, data)
	if !ok {
		return false
	}
	s.exchange.Silent = false
	d.changes.heard = d.changes.heard || s.pp != nil
	stated := s.LastAsked
	if s.awaitsUnmarked() {
		var is attribution
		stated, is = d.attribute(s, data, &a)
		if is != attributed && !s.exchange.has(s.exchange.Step+1) {
			d.askOnceMore(s, is, a, now)
			return true
		}
	}
	if v.Known() {
		s.update(v, a, stated)
	}
	d.send(s, s.exchange.goTo(s.exchange.Step+1, now))
	if !v.Known() {
		s.unconfirmed(a.at)
	}
	d.finish(s, now)
	return true
}

// askOnceMore repeats the last question of a sensor, which has got an answer that says nothing.
func (d *trackedDevice) askOnceMore(s *sensor, is attribution, a arrival, now time.Time) {
	if is == ofAnother {
		s.LastAsked = now
		d.send(s, s.exchange.repeat(now))
		return
	}
	d.asked = 0
	s.AskAgainAt = now.Add(5 * s.exchange.timeout()) // by then the queue has been seen empty after twice the time that an answer may take
	s.exchange.end()
	s.unconfirmed(a.at)
	d.finish(s, now)
}

// finish continues after an exchange, if it is over.
func (d *trackedDevice) finish(s *sensor, now time.Time) {
	if !s.exchange.waiting() {
		s.pollAgain(now)
	}
	d.proceed(now)
}

// timeOut continues without an answer, since not every report that is sent has one. An exchange that reads a report has failed.
func (d *trackedDevice) timeOut(s *sensor, now time.Time) {
	d.expectLate(s)
	if s.exchange.answered(s.exchange.Step) == byReport {
		d.send(s, s.exchange.goTo(s.exchange.Step+1, now))
	} else {
		s.exchange.end()
	}
	d.unanswered(s, now)
}

// unanswered handles the lack of an answer, after which the exchange goes on or is over.
func (d *trackedDevice) unanswered(s *sensor, now time.Time) {
	if !s.exchange.waiting() {
		d.asked = 0
	}
	s.exchange.Silent = !s.exchange.waiting()
	d.changes.heard = d.changes.heard || s.pp != nil
	s.unconfirmed(now)
	d.finish(s, now)
}

// due returns when to call expire; zero: never.
func (d *trackedDevice) due() time.Time {
	var t time.Time
	if s := d.conversation(); s != nil {
		t = s.exchange.due()
	}
	for _, s := range d.sensors {
		doubt := s.Doubted
		if !doubt.IsZero() {
			doubt = doubt.Add(maxDoubt)
		}
		for _, due := range []time.Time{s.Due, s.OutdatedAt, s.AskAgainAt, doubt} {
			if !due.IsZero() && (t.IsZero() || due.Before(t)) {
				t = due
			}
		}
	}
	return t
}

// expire handles the timeouts, pauses and debounce times that are over.
func (d *trackedDevice) expire(now time.Time) {
	if s := d.conversation(); s != nil && !now.Before(s.exchange.due()) {
		if s.exchange.PausedUntil.IsZero() {
			d.timeOut(s, now)
		} else {
			d.send(s, s.exchange.proceed(now))
		}
	}
	for _, s := range d.sensors {
		s.expire(now)
	}
	d.askAgain(now)
}

// forget makes the states of some sensors unknown, and cancels their queries.
func (d *trackedDevice) forget(at, now time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if which(s) {
			s.forget(at)
		}
	}
	d.stopAsking(now, which)
}

// stopAsking cancels the queries of some sensors.
func (d *trackedDevice) stopAsking(now time.Time, which func(*sensor) bool) {
	d.queue = slices.DeleteFunc(d.queue, which)
	if s := d.conversation(); s != nil && which(s) {
		d.cancel(now)
	}
	d.ignoreLate(which)
	for _, s := range d.sensors {
		if which(s) {
			s.pollAgain(now)
		}
	}
	d.proceed(now)
}
