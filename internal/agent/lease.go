package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
)

// Push is what the vendor's own software says of a product, for a while.
type Push struct {
	Product string
	Serial  string // which unit; "" = the only one
	Owner   string // names the software
	Seq     uint64 // of two pushes of an owner the higher one counts; 0 = the later
	TTL     time.Duration
	Holder  string                        // who takes it back by Release, if TTL is 0
	State   map[devices.Field]devices.Tri // Unknown takes a flag back; what is absent stays as it is
	At      time.Time
}

// Lease is a push that is in force.
type Lease struct {
	devices.Push
	Until time.Time // zero: until its holder is released
	Units int       // how many plugged-in products it speaks of; 0: it waits for one; several: it has no effect
}

// ErrOvertaken means that a push with a higher number came before this one.
var ErrOvertaken = errors.New("overtaken: a push with a higher seq came before")

// ErrTooMany means that more leases are in force than anybody needs.
var ErrTooMany = fmt.Errorf("more than %d leases are in force", maxLeases)

// maxLeases bounds memory against software that names a new owner with each push.
const maxLeases = 256

// UnknownProductError means that the catalogue has no product of this name.
type UnknownProductError struct {
	Product string
	Known   []string
}

func (e *UnknownProductError) Error() string {
	return fmt.Sprintf("the catalogue has no product %q", e.Product)
}

// AmbiguousError means that a push could speak of several units.
type AmbiguousError struct {
	Product string
	Units   []devices.Unit
}

func (e *AmbiguousError) Error() string {
	s := fmt.Sprintf("%d products %q are plugged in", len(e.Units), e.Product)
	if serials := e.Serials(); len(serials) > 1 {
		return s + ", say which with its serial: " + strings.Join(serials, ", ")
	}
	return s + ", and no serial numbers tell them apart"
}

// Serials are the different serial numbers of the units, sorted.
func (e *AmbiguousError) Serials() []string {
	var serials []string
	for _, u := range e.Units {
		if u.Serial != "" {
			serials = append(serials, u.Serial)
		}
	}
	slices.Sort(serials)
	return slices.Compact(serials)
}

// Push puts what p says into force. When it returns, the list that holds it has been published.
func (e *Engine) Push(p Push) (units int, err error) {
	out := e.tell(Input{Push: &p})
	return out.units, out.err
}

// Release takes back what was pushed by this holder without a lease.
func (e *Engine) Release(holder string) { e.tell(Input{Release: holder}) }

// Resumed is to be called after the machine has slept. Leases have aged meanwhile, which the clock
// of the process does not see, and what devices had said before it woke counts no more. woke is when that was, on
// the clock that events are stamped with; zero: nobody knows, so nothing that was said until now counts.
func (e *Engine) Resumed(woke time.Time) {
	e.do(func(s *state) {
		r := Resumed{Slept: Span(slept(s.awake, s.now))}
		if !woke.IsZero() {
			r.Awake = Span(max(0, s.now.Sub(woke)))
		}
		s.take(Input{Resumed: &r})
	})
}

// slept is by how much the wall clock has run ahead of the clock of the process.
func slept(from, to time.Time) time.Duration {
	return max(0, to.Round(0).Sub(from.Round(0))-to.Sub(from))
}

func (s *state) release(holder string) {
	s.dropLeases(func(l *lease) bool { return l.until.IsZero() && l.holder == holder }, "its owner's connection has ended")
}

func (s *state) resumed(r Resumed) {
	s.awake = s.now
	for _, l := range s.leases {
		if !l.until.IsZero() {
			l.until = s.now.Add(l.until.Sub(s.now) - time.Duration(r.Slept))
		}
	}
	s.dropLeases(func(l *lease) bool { return !l.until.IsZero() && !s.now.Before(l.until) }, "its lease ran out while the machine slept")
	if s.hid.Resume(s.now.Add(-time.Duration(r.Awake)), s.now) {
		s.dirty = true
		s.touch()
	}
}

// lease is what one owner says of one product or unit.
type lease struct {
	devices.Push
	seq    uint64
	until  time.Time // zero: until its holder is released
	holder string
}

func (s *state) push(p Push) (units int, err error) {
	if !slices.Contains(s.opts.Resolver.Products(), p.Product) {
		return 0, &UnknownProductError{p.Product, s.opts.Resolver.Products()}
	}
	found := s.opts.Resolver.Units(s.inputs().Endpoints, p.Product, p.Serial)
	if len(found) > 1 && !p.takesBack() {
		return 0, &AmbiguousError{p.Product, found}
	}
	i := slices.IndexFunc(s.leases, func(l *lease) bool {
		return l.Product == p.Product && l.Serial == p.Serial && l.Owner == p.Owner
	})
	if i < 0 {
		if len(s.leases) == maxLeases {
			return 0, ErrTooMany
		}
		i = len(s.leases)
		s.leases = append(s.leases, &lease{Push: devices.Push{Product: p.Product, Serial: p.Serial, Owner: p.Owner}})
	}
	l := s.leases[i]
	if p.Seq != 0 && p.Seq < l.seq {
		return 0, ErrOvertaken
	}
	l.renew(p, s.now)
	s.dirty = true
	if len(l.State) == 0 && l.seq == 0 {
		s.leases = slices.Delete(s.leases, i, i+1) // one with a number stays for its time: what it overtook may yet come
	}
	s.at = p.At
	s.touch()
	return len(found), nil
}

// takesBack reports whether p takes flags back and says nothing else. What it takes back is its owner's,
// whichever unit that spoke of.
func (p Push) takesBack() bool {
	for _, v := range p.State {
		if v.Known() {
			return false
		}
	}
	return len(p.State) > 0
}

// renew applies p. The maps are made anew: snapshots of the old ones may be in use.
func (l *lease) renew(p Push, now time.Time) {
	state, since := maps.Clone(l.State), maps.Clone(l.Since)
	if state == nil {
		state, since = make(map[devices.Field]devices.Tri), make(map[devices.Field]time.Time)
	}
	for f, v := range p.State {
		switch {
		case !v.Known():
			delete(state, f)
			delete(since, f)
		case state[f] != v:
			state[f], since[f] = v, p.At
		}
	}
	l.State, l.Since = state, since
	l.seq = max(l.seq, p.Seq)
	l.until, l.holder = time.Time{}, p.Holder
	if p.TTL > 0 {
		l.until = now.Add(p.TTL)
	}
}

// dropLeases takes leases back: the next origin of their flags counts again.
func (s *state) dropLeases(ended func(*lease) bool, why string) {
	s.leases = slices.DeleteFunc(s.leases, func(l *lease) bool {
		if !ended(l) {
			return false
		}
		if len(l.State) == 0 {
			return true
		}
		s.dirty = true
		s.opts.Log.Info("pushed state taken back", "product", l.Product, "owner", l.Owner, "was", l.says(), "reason", why)
		s.touch()
		return true
	})
}

// says is the lease's state in words.
func (l *lease) says() string {
	var parts []string
	for _, f := range devices.Fields {
		if v, ok := l.State[f]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", f, v))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *state) pushes() []devices.Push {
	var out []devices.Push
	for _, l := range s.leases {
		if len(l.State) > 0 {
			out = append(out, l.Push)
		}
	}
	return out
}

func (s *state) viewLeases() []Lease {
	out := []Lease{}
	for _, l := range s.leases {
		if len(l.State) > 0 {
			units := s.opts.Resolver.Units(s.inputs().Endpoints, l.Product, l.Serial)
			out = append(out, Lease{Push: l.Push, Until: l.until, Units: len(units)})
		}
	}
	slices.SortFunc(out, func(a, b Lease) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Serial, b.Serial), cmp.Compare(a.Owner, b.Owner))
	})
	return out
}
