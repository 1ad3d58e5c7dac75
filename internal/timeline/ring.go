package timeline

import (
	"strconv"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Limit bounds a Ring, in bytes as it counts them. Including the runtime's overhead it takes less than 1 MiB.
const Limit = 768 << 10

const (
	// burst changes of a lane are kept one by one. After that only one per refill is, and the others are merged into the
	// one before: an hour of toggling becomes some dozens of changes, and does not displace a whole day.
	burst  = 16
	refill = time.Minute
	// stepMin is the smallest step of the wall clock that is noted: the system keeps correcting it a little.
	stepMin = 2 * time.Second
)

// Clock is the clock of a Ring.
type Clock struct {
	Now     func() time.Time
	Elapsed func() time.Duration // is never set and, if the system can, includes the time that the machine sleeps
}

// Ring is a bounded memory of changes. It is told the present state again and again, and notes what differs from before. It is safe for
// concurrent use.
type Ring struct {
	clock Clock
	limit int

	version string // of the agent

	reading  sync.Mutex // is taken before mu, so that a writer never waits for more than one reader
	mu       sync.Mutex
	store    store
	clients  slots
	units    slots
	pass     uint64        // number of the present update, with which everything is marked that it mentions
	from     time.Duration // since when nothing was dropped
	omitted  bool
	begun    time.Time     // with the monotonic clock, which does not count sleep
	began    time.Duration // the same time, by Elapsed
	slept    time.Duration // total sleep when last checked: the difference of Elapsed and the monotonic clock
	wallZero time.Time     // the wall clock's time at Elapsed 0, when last checked
}

// NewRing makes a ring that notes the start of an agent of that version; with "" it notes no start.
func NewRing(clock Clock, version string) *Ring { return newRing(clock, version, Limit) }

func newRing(clock Clock, version string, limit int) *Ring {
	r := &Ring{clock: clock, limit: limit, store: newStore(), clients: newSlots(), units: newSlots()}
	r.begun, r.began = clock.Now(), clock.Elapsed()
	r.from, r.wallZero = r.began, r.begun.Round(0).Add(-r.began)
	r.version = version
	r.markStart()
	return r
}

func (r *Ring) markStart() {
	if r.version != "" {
		r.mark(r.began, value{state: Started, detail: r.version})
	}
}

// tell calls f with the time at which something happened, by Elapsed; zero is now.
func (r *Ring) tell(at time.Time, f func(at time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, elapsed := r.clock.Now(), r.clock.Elapsed()
	zero := now.Round(0).Add(-elapsed)
	if step := zero.Sub(r.wallZero); step.Abs() >= stepMin {
		r.wallZero = zero
		r.mark(elapsed, value{state: ClockSet, detail: signed(step)})
	}
	moment := elapsed
	if !at.IsZero() {
		moment -= max(0, now.Sub(at))
	}
	r.pass++
	f(max(moment, r.began))
	r.bound()
}

// signed formats a step with its sign.
func signed(step time.Duration) string {
	text := step.Round(time.Second).String()
	if step > 0 {
		text = "+" + text
	}
	return text
}

// mark notes something that happened to the agent, even if it is the same as before.
func (r *Ring) mark(at time.Duration, v value) {
	if l := r.lane(key{kind: KindAgent}, ""); l != nil {
		r.store.note(l, at, v)
	}
}

// Resumed notes that the machine has slept.
func (r *Ring) Resumed() {
	r.tell(time.Time{}, func(at time.Duration) {
		slept := at - r.began - r.clock.Now().Sub(r.begun)
		v := value{state: Resumed}
		if last := (slept - r.slept).Round(time.Second); last > 0 {
			v.detail = last.String()
		}
		r.slept = slept
		r.mark(at, v)
	})
}

// Snapshot notes what is plugged in, and its flags.
func (r *Ring) Snapshot(s devices.Snapshot) {
	r.tell(s.At, func(at time.Duration) {
		for _, d := range s.Devices {
			r.units.markPresent(d.Unit, d.Product, r.pass)
		}
		r.units.markGone(r.pass)
		for _, d := range s.Devices {
			n := r.units.numberOf(d.Unit, d.Product)
			r.set(key{kind: KindProduct, product: d.Product, number: n}, at, value{state: Present}, d.Model.Name)
			for _, f := range devices.Fields {
				if flag, may := d.Flags[f]; may {
					v := value{state: flag.Value.String()}
					if flag.Value.Known() {
						v.origin = flag.Origin
					}
					r.set(key{kind: KindFlag, product: d.Product, number: n, device: d.ID, flag: f}, at, v, d.Model.Name)
				}
			}
		}
		r.setOthers(at, Absent, func(k key) bool { return k.kind == KindProduct || k.kind == KindFlag })
	})
}

// Acknowledged notes the list that a client has accepted.
func (r *Ring) Acknowledged(c Client, s devices.Snapshot) {
	r.tell(time.Time{}, func(at time.Duration) {
		number := r.clients.numberOf(c.ID, c.Name)
		for _, d := range s.Devices {
			n := r.units.numberOf(d.Unit, d.Product)
			k := key{kind: KindListed, client: c.Name, clientNumber: number, product: d.Product, number: n}
			r.set(k, at, value{state: Present}, d.Model.Name)
			k.kind, k.device = KindAcknowledged, d.ID
			for _, f := range devices.Fields {
				if flag, may := d.Flags[f]; may {
					k.flag = f
					r.set(k, at, value{state: flag.Value.String()}, d.Model.Name)
				}
			}
		}
		r.setOthers(at, Absent, func(k key) bool { return k.ofList() && k.client == c.Name && k.clientNumber == number })
	})
}

// Clients notes the states of all clients. It calls read while no other change can be noted, so that the states are not older than what
// Acknowledged was told.
func (r *Ring) Clients(read func() []Client) {
	r.tell(time.Time{}, func(at time.Duration) {
		list := read()
		for _, c := range list {
			r.clients.markPresent(c.ID, c.Name, r.pass)
		}
		r.clients.markGone(r.pass)
		for _, c := range list {
			number := r.clients.numberOf(c.ID, c.Name)
			k := key{kind: KindClient, client: c.Name, clientNumber: number}
			if r.mentioned(k) {
				continue
			}
			r.set(k, at, value{state: c.State, detail: c.Via}, "")
			if !c.Holds {
				r.setOthers(at, Unknown, func(k key) bool { return k.ofList() && k.client == c.Name && k.clientNumber == number })
			}
		}
		r.setOthers(at, Gone, func(k key) bool { return k.kind == KindClient })
		r.setOthers(at, Unknown, func(k key) bool { return k.ofList() && !r.clients.live(k.client, k.clientNumber) })
	})
}

// Conditions notes everything that is not in order.
func (r *Ring) Conditions(list []health.Condition) {
	r.tell(time.Time{}, func(at time.Duration) {
		for _, c := range list {
			k := key{kind: KindCondition, code: c.Code, subject: c.Subject}
			if r.mentioned(k) {
				continue
			}
			l := r.set(k, at, value{state: string(c.Severity)}, "")
			if l != nil && !l.condition.Equal(c) {
				r.store.describe(l, c)
			}
		}
		r.setOthers(at, Ended, func(k key) bool { return k.kind == KindCondition })
	})
}

// Numbered appends a number, from 2 on, to a name, to tell several things of one name apart.
func Numbered(name string, n int) string {
	if n < 2 {
		return name
	}
	return name + " (" + strconv.Itoa(n) + ")"
}

// set notes the value of a lane, if it has changed. It returns nil if there is no room for the lane. name is that of its product, if any.
func (r *Ring) set(k key, at time.Duration, v value, name string) *lane {
	l := r.lane(k, name)
	if l == nil {
		return nil
	}
	l.pass = r.pass
	if r.store.values[l.now] != v {
		r.store.note(l, at, v)
	}
	return l
}

// mentioned reports whether a lane was mentioned in this pass: if something is mentioned twice the first one counts.
func (r *Ring) mentioned(k key) bool {
	l := r.store.lanes[k]
	return l != nil && l.pass == r.pass
}

// lane returns the lane of a key, and makes it if necessary; nil: there is no room.
func (r *Ring) lane(k key, name string) *lane {
	if l := r.store.lanes[k]; l != nil {
		return l
	}
	for r.store.fixed() > r.limit/2 {
		if !r.drop() {
			r.omitted = true
			return nil
		}
	}
	return r.store.add(k, name)
}

// setOthers sets the value of lanes that this update has not mentioned.
func (r *Ring) setOthers(at time.Duration, state string, which func(key) bool) {
	for k, l := range r.store.lanes {
		if l.pass != r.pass && which(k) && r.store.values[l.now].state != state {
			r.store.note(l, at, value{state: state})
		}
	}
}

// bound drops the oldest changes if everything takes too much room.
func (r *Ring) bound() {
	for r.store.size() > r.limit && r.drop() {
	}
}

// drop removes the oldest changes, and reports whether there were any. It invalidates pointers to lanes.
func (r *Ring) drop() bool {
	from, ok := r.store.drop()
	r.from = max(r.from, from)
	names := make(map[string]bool)
	for k := range r.store.lanes {
		names[k.client], names[k.product] = true, true
	}
	r.clients.forget(names)
	r.units.forget(names)
	return ok
}

// Timeline returns what the ring holds.
func (r *Ring) Timeline() Timeline {
	r.reading.Lock()
	defer r.reading.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	now, elapsed := r.clock.Now().Round(0), r.clock.Elapsed()
	wall := func(at time.Duration) time.Time { return now.Add(at - elapsed).Truncate(time.Microsecond) }
	return Timeline{Version: Version, From: wall(r.from), To: wall(elapsed), Lanes: r.store.show(wall), Omitted: r.omitted}
}
