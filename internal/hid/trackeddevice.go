package hid

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/hid/descriptor"
)

// trackedDevice is a device that is there, and what the rules make of it.
type trackedDevice struct {
	device  Device
	desc    *descriptor.Descriptor // nil: makes no sense
	reason  *health.Condition      // behind denied
	denied  string                 // why it cannot be read; empty: it can
	sensors []*sensor

	asking *sensor   // whose conversation is under way; a device has one at a time
	asked  uint64    // the last request of it
	queue  []*sensor // whose turn comes after it
	lost   time.Time // when it was asked because reports were lost

	changes  *changeFlags
	requests []Request
}

// changeFlags are what devices and sensors note down for their Tracker.
type changeFlags struct {
	requests uint64       // the number of the last request
	readings bool         // a reading is not what it was
	links    bool         // a sensor of a link is not what it was
	pending  consequences // those of all sensors
}

// unit is one physical product as far as its HID devices tell.
type unit struct{ product, identity string }

func (u unit) compare(v unit) int {
	return cmp.Or(cmp.Compare(u.product, v.product), cmp.Compare(u.identity, v.identity))
}

// unitOf is the unit that the device is a part of, by a rule.
func (d *trackedDevice) unitOf(rl *Rule) unit {
	if rl.BySerial {
		return unit{rl.Product, cmp.Or(d.device.Serial, d.device.Container, d.device.Node)}
	}
	return unit{rl.Product, cmp.Or(d.device.Container, d.device.Serial, d.device.Node)}
}

// ask begins the conversation of every sensor that asks at this moment. One whose first request
// has yet to go out is not asked twice.
func (d *trackedDevice) ask(m Moment, now time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if s.asksAt(m) && which(s) {
			d.enqueue(s)
		}
	}
	d.proceed(now)
}

func (d *trackedDevice) enqueue(s *sensor) {
	if !slices.Contains(d.queue, s) && !d.isAboutToAsk(s) {
		d.queue = append(d.queue, s)
	}
}

// isAboutToAsk reports whether a conversation is just about to begin.
func (d *trackedDevice) isAboutToAsk(s *sensor) bool {
	return d.conversation() == s && s.exchange.step == 0 && slices.ContainsFunc(d.requests, d.isAsked)
}

func (d *trackedDevice) isAsked(r Request) bool { return r.ID == d.asked }

// conversation is whose answer is awaited; nil: nobody's.
func (d *trackedDevice) conversation() *sensor {
	if d.asking == nil || !d.asking.exchange.waiting {
		return nil
	}
	return d.asking
}

// proceed begins the next conversation once the one under way is over.
func (d *trackedDevice) proceed(now time.Time) {
	for d.conversation() == nil && len(d.queue) > 0 {
		d.asking, d.queue = d.queue[0], d.queue[1:]
		d.asking.lastAsked = now
		d.send(d.asking.exchange.start(now))
	}
}

func (d *trackedDevice) send(r Request, ok bool) {
	if !ok {
		d.asked = 0 // nothing that comes now is an answer
		return
	}
	d.changes.requests++
	r.ID, d.asked = d.changes.requests, d.changes.requests
	d.requests = append(d.requests, r)
}

// cancel ends the conversation under way. What has not gone out yet does not go out.
func (d *trackedDevice) cancel() {
	if s := d.conversation(); s != nil {
		s.exchange.end()
		if s.exchange.answeredByReport() && !slices.ContainsFunc(d.requests, d.isAsked) {
			s.exchange.lateAnswerUntil = s.exchange.until
		}
		d.requests = slices.DeleteFunc(d.requests, d.isAsked)
	}
}

// awaited is the request whose answer is awaited, if it may arrive as an input report; 0: there is none.
func (d *trackedDevice) awaited() uint64 {
	if s := d.conversation(); s != nil && s.exchange.answeredByReport() {
		return d.asked
	}
	return 0
}

// handleReport lets some sensors take an input report, which may be the answer to the awaited request.
func (d *trackedDevice) handleReport(data []byte, awaited uint64, which func(*sensor) bool, at, now time.Time) {
	var told *sensor
	if s := d.conversation(); s != nil && which(s) && awaited != 0 && d.asked == awaited && d.answer(s, data, at, now) {
		told = s
	}
	for _, s := range d.sensors {
		if which(s) {
			s.handleReport(data, at, now)
			if s != told {
				s.checkAskOn(data, now)
			}
		}
	}
	d.askAgain(now)
}

// askAgain asks those that have cause to doubt what they know.
func (d *trackedDevice) askAgain(now time.Time) {
	for _, s := range d.sensors {
		if s.askAgainAt.IsZero() || now.Before(s.askAgainAt) {
			continue
		}
		s.askAgainAt = time.Time{}
		d.enqueue(s)
	}
	d.proceed(now)
}

// answered takes the feature report that a request has brought, or nil if that has failed.
func (d *trackedDevice) answered(request uint64, data []byte, at, now time.Time) {
	s := d.conversation()
	if s == nil || request != d.asked {
		return
	}
	if data == nil || !d.answer(s, data, at, now) {
		d.unanswered(s, now)
	}
}

// answer takes what may be the answer that is awaited; it is false if it is not.
func (d *trackedDevice) answer(s *sensor, data []byte, at, now time.Time) bool {
	if s.exchange.isBusy(s.exchange.step, data) {
		if s.exchange.retry(now) {
			d.asked = 0
			return true
		}
		return false
	}
	v, ok := s.exchange.answer(s.exchange.step, data)
	if !ok {
		return false
	}
	s.exchange.silent = false
	if now.Before(s.exchange.lateAnswerUntil) {
		s.exchange.lateAnswerUntil = time.Time{}
		s.askSoon(now)
	}
	if v.Known() {
		s.update(v, at)
		s.statedAt = s.lastAsked
	}
	d.send(s.exchange.next(now))
	if !v.Known() {
		s.unconfirmed(at)
	}
	d.finish(s, now)
	return true
}

// finish goes on after a conversation, if it is over.
func (d *trackedDevice) finish(s *sensor, now time.Time) {
	if !s.exchange.waiting {
		s.pollAgain(now)
	}
	d.proceed(now)
}

// unanswered goes on without an answer: not every output report has one. What reads a report has failed.
func (d *trackedDevice) unanswered(s *sensor, now time.Time) {
	if s.exchange.answeredByReport() {
		d.send(s.exchange.next(now))
	} else {
		s.exchange.end()
		d.asked = 0
	}
	s.exchange.silent = !s.exchange.waiting
	s.unconfirmed(now)
	d.finish(s, now)
}

// due is when expire has something to do; zero: never.
func (d *trackedDevice) due() time.Time {
	var t time.Time
	if s := d.conversation(); s != nil {
		t = s.exchange.due()
	}
	for _, s := range d.sensors {
		for _, due := range []time.Time{s.due, s.askAgainAt} {
			if !due.IsZero() && (t.IsZero() || due.Before(t)) {
				t = due
			}
		}
	}
	return t
}

// expire ends what has taken long enough.
func (d *trackedDevice) expire(now time.Time) {
	if s := d.conversation(); s != nil && !now.Before(s.exchange.due()) {
		if s.exchange.pausedUntil.IsZero() {
			d.unanswered(s, now)
		} else {
			d.send(s.exchange.proceed(now))
		}
	}
	for _, s := range d.sensors {
		s.expire(now)
	}
	d.askAgain(now)
}

// forget makes unknown what the sensors know, and breaks off what they ask.
func (d *trackedDevice) forget(at, now time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if which(s) {
			s.forget(at)
		}
	}
	d.stopAsking(now, which)
}

// stopAsking breaks off what the sensors ask.
func (d *trackedDevice) stopAsking(now time.Time, which func(*sensor) bool) {
	d.queue = slices.DeleteFunc(d.queue, which)
	if s := d.conversation(); s != nil && which(s) {
		d.cancel()
	}
	for _, s := range d.sensors {
		if which(s) {
			s.pollAgain(now)
		}
	}
	d.proceed(now)
}
