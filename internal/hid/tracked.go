package hid

import (
	"slices"
	"time"

	"sidetone/internal/devices"
)

// tracked is a device that is there, and what the rules make of it.
type tracked struct {
	device  Device
	desc    *Descriptor // nil: makes no sense
	denied  string      // why it cannot be read; empty: it can
	sensors []*sensor

	talking *sensor   // whose conversation is under way; a device has one at a time
	asked   uint64    // the last request of it
	queue   []*sensor // whose turn comes after it

	ids      *uint64 // of requests, shared by all devices
	requests []Request
}

func (d *tracked) sensorOf(rl *rule) *sensor {
	i := slices.IndexFunc(d.sensors, func(s *sensor) bool { return s.same(rl) })
	if i < 0 {
		return nil
	}
	return d.sensors[i]
}

// ask begins the conversation of every sensor that asks at this moment.
func (d *tracked) ask(m devices.Moment, now time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if s.asksAt(m) && which(s) && !slices.Contains(d.queue, s) {
			d.queue = append(d.queue, s)
		}
	}
	d.goOn(now)
}

// goOn begins the next conversation once the one under way is over.
func (d *tracked) goOn(now time.Time) {
	for (d.talking == nil || !d.talking.talk.waiting) && len(d.queue) > 0 {
		d.talking, d.queue = d.queue[0], d.queue[1:]
		d.send(d.talking.talk.start(now))
	}
}

func (d *tracked) send(r Request, ok bool) {
	if !ok {
		return
	}
	*d.ids++
	r.ID, d.asked = *d.ids, *d.ids
	d.requests = append(d.requests, r)
}

// hear takes an input report.
func (d *tracked) hear(data []byte, at, now time.Time) {
	if d.talking != nil && d.talking.talk.waiting && d.talking.talk.unasked() {
		d.answer(data, at, now)
	}
	for _, s := range d.sensors {
		s.hear(data, at, now)
	}
}

// answered takes the feature report that a request has brought, or nil if that has failed.
func (d *tracked) answered(request uint64, data []byte, at, now time.Time) {
	if d.talking == nil || !d.talking.talk.waiting || request != d.asked {
		return
	}
	if data == nil {
		d.talking.talk.until = now
		d.expire(now)
		return
	}
	d.answer(data, at, now)
}

func (d *tracked) answer(data []byte, at, now time.Time) {
	s := d.talking
	v, ok := s.talk.answer(s.talk.step, data)
	if !ok {
		return
	}
	s.talk.silent = false
	if v.Known() {
		s.set(v, at)
	}
	d.send(s.talk.next(now))
	d.goOn(now)
}

// due is when expire has something to do; zero: never.
func (d *tracked) due() time.Time {
	var t time.Time
	if d.talking != nil && d.talking.talk.waiting {
		t = d.talking.talk.until
	}
	for _, s := range d.sensors {
		if !s.due.IsZero() && (t.IsZero() || s.due.Before(t)) {
			t = s.due
		}
	}
	return t
}

// expire goes on without answers whose time is over: not every request of a conversation has one.
func (d *tracked) expire(now time.Time) {
	if x := d.conversation(); x != nil && !now.Before(x.until) {
		d.send(x.next(now))
		x.silent = !x.waiting
		d.goOn(now)
	}
	for _, s := range d.sensors {
		s.expire(now)
	}
}

// conversation is the one under way, or nil.
func (d *tracked) conversation() *exchange {
	if d.talking == nil || !d.talking.talk.waiting {
		return nil
	}
	return d.talking.talk
}

// forget makes unknown what the sensors know, and breaks off what they ask.
func (d *tracked) forget(at time.Time, which func(*sensor) bool) {
	for _, s := range d.sensors {
		if which(s) {
			s.forget(at)
		}
	}
	d.queue = slices.DeleteFunc(d.queue, which)
	if d.talking != nil && which(d.talking) {
		d.talking.talk.waiting = false
	}
}
