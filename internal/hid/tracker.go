package hid

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// Tracker knows what the rules have read off all devices. It is not safe for concurrent use.
// Every method that may change a reading says whether it did; requests are to be fetched after it.
type Tracker struct {
	rules   *Rules
	devices map[string]*tracked // by node
	ids     uint64
}

// NewTracker returns a Tracker without devices.
func NewTracker(r *Rules) *Tracker {
	return &Tracker{rules: r, devices: make(map[string]*tracked)}
}

// Apply takes in what has happened to a device; now is the time of the clock that Due and Expire
// go by.
func (t *Tracker) Apply(e Event, now time.Time) (changed bool) {
	at := e.At
	if at.IsZero() {
		at = now
	}
	return t.change(at, now, func() {
		d := t.devices[e.Node]
		switch e.Happening {
		case Attached, Denied:
			t.attach(e, at, now)
		case Gone:
			delete(t.devices, e.Node)
		case Report:
			if d != nil {
				d.hear(e.Data, at, now)
			}
		case Answer:
			if d != nil {
				d.answered(e.Request, e.Data, at, now)
			}
		case Lost:
			if d != nil {
				d.forget(at, all)
				d.ask(devices.AtResume, now, all)
			}
		}
	})
}

func all(*sensor) bool { return true }

func (t *Tracker) attach(e Event, at, now time.Time) {
	if e.Device == nil {
		return
	}
	d := &tracked{device: *e.Device, desc: describe(*e.Device), denied: e.Error, ids: &t.ids}
	d.device.Node = e.Node
	t.devices[e.Node] = d
	if e.Happening == Denied {
		return
	}
	d.denied = ""
	d.sensors = t.sensors(d)
	if e.Plugged {
		for _, s := range d.sensors {
			s.reset(at)
		}
	}
	d.ask(devices.AtAttach, now, all)
}

func (t *Tracker) sensors(d *tracked) []*sensor {
	var out []*sensor
	for _, rl := range t.rules.list {
		if !rl.fits(d.device, d.desc) {
			continue
		}
		if s := d.sensorOf(rl); s != nil {
			s.rule = rl
			out = append(out, s)
		} else {
			out = append(out, newSensor(rl, &d.device, d.desc))
		}
	}
	return out
}

// same reports whether the rule is another's equal: it reads the same off the same.
func (rl *rule) same(other *rule) bool {
	return rl.product == other.product && rl.at == other.at && rl.link == other.link && reflect.DeepEqual(rl.SourceKind, other.SourceKind)
}

// Configure puts other rules into force. What those that stay have read stays known.
func (t *Tracker) Configure(r *Rules, now time.Time) (changed bool) {
	return t.change(now, now, func() {
		t.rules = r
		for _, d := range t.sorted() {
			if d.denied != "" {
				continue
			}
			before := d.sensors
			d.sensors = t.sensors(d)
			dropped := func(s *sensor) bool { return !slices.Contains(d.sensors, s) }
			d.queue = slices.DeleteFunc(d.queue, dropped)
			if d.talking != nil && dropped(d.talking) {
				d.talking = nil
			}
			d.ask(devices.AtAttach, now, func(s *sensor) bool { return !slices.Contains(before, s) })
		}
	})
}

// Resume is for when the machine has slept: nothing that was known before is trusted.
func (t *Tracker) Resume(now time.Time) (changed bool) {
	return t.change(now, now, func() {
		for _, d := range t.sorted() {
			d.forget(now, all)
			d.ask(devices.AtResume, now, all)
		}
	})
}

// Due is when Expire has something to do; zero: never.
func (t *Tracker) Due() time.Time {
	var due time.Time
	for _, d := range t.devices {
		if at := d.due(); !at.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

// Expire ends what has taken long enough: the wait for an answer, the time that a level has to last.
func (t *Tracker) Expire(now time.Time) (changed bool) {
	if due := t.Due(); due.IsZero() || now.Before(due) {
		return false
	}
	return t.change(now, now, func() {
		for _, d := range t.sorted() {
			d.expire(now)
		}
	})
}

// Requests takes what is to be sent to devices, in order.
func (t *Tracker) Requests() []Request {
	var out []Request
	for _, d := range t.devices {
		out = append(out, d.requests...)
		d.requests = nil
	}
	slices.SortFunc(out, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// Readings is what the rules have read, unknown states too, in a fixed order.
func (t *Tracker) Readings() []devices.Reading {
	var out []devices.Reading
	for _, d := range t.sorted() {
		for _, s := range d.sensors {
			r := devices.Reading{
				Product: s.product, Rule: s.at, Container: d.device.Container, Serial: d.device.Serial, Value: s.value,
			}
			if s.value.Known() {
				r.Origin, r.Since = devices.Origin{Via: s.via(), Detail: d.device.Node}, s.since
			}
			out = append(out, r)
		}
	}
	return out
}

func (t *Tracker) sorted() []*tracked {
	return slices.SortedFunc(maps.Values(t.devices), func(a, b *tracked) int { return cmp.Compare(a.device.Node, b.device.Node) })
}

// change runs f and lets follow from it what the state of links has to do with other states. It
// reports whether a reading differs from before.
func (t *Tracker) change(at, now time.Time, f func()) bool {
	before, links := t.Readings(), t.links()
	f()
	after := t.links()
	for _, u := range slices.SortedFunc(maps.Keys(after), unit.compare) {
		if links[u] != after[u] {
			t.linked(u, links[u], after[u], at, now)
		}
	}
	return !slices.Equal(before, t.Readings())
}
