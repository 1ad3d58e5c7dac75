package engine

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

// Push is what the vendor's own software says about a product, for a limited time.
type Push struct {
	Product string                        `json:"product"`
	Serial  string                        `json:"serial,omitempty"`   // which unit; "" = the only one
	Owner   string                        `json:"owner"`              // names the software
	Seq     uint64                        `json:"seq,omitempty"`      // of two pushes of an owner and Holder the higher counts; 0 = the later
	TTL     Span                          `json:"ttl,omitempty"`      // 0 = until Holder is released
	Holder  string                        `json:"holder,omitempty"`   // the connection; its Release takes it back if TTL is 0
	State   map[devices.Field]devices.Tri `json:"state"`              // Unknown takes a flag back; a flag that is absent stays as it is
	At      time.Time                     `json:"at,omitzero"`        // when it was said
	Unit    string                        `json:"unit,omitempty"`     // at the beginning of a recording: the unit it was bound to; else ""
	HIDLeft bool                          `json:"hid_left,omitempty"` // likewise, of older recordings: its HID device has been away since
}

// Pushed is what has become of a push.
type Pushed struct {
	Units  int       // how many plugged-in products it may mean; 0: it waits for one, or Left
	Left   bool      // the one that it means has just left, or is switched off: it is not kept
	Until  time.Time // when its lease ends; zero: when its holder is released, or nothing is left of it
	Others []string  // serial numbers of such products that are plugged in, if it waits for another one
}

// Lease is a push that is in force.
type Lease struct {
	devices.Push
	Until time.Time // zero: until its holder is released
	Units int       // how many plugged-in products it may mean; 0: it waits for one; several: it has no effect
}

// ErrOvertaken means that a push with a higher number came before this one.
var ErrOvertaken = errors.New("overtaken: a push with a higher seq came before")

// errAsleep means that the machine has slept since the push.
var errAsleep = errors.New("said before the machine slept: what has happened to the device since is not known")

// ErrEnded means that the Engine has stopped, and holds no pushes any more.
var ErrEnded = errors.New("the agent is stopping")

// errTooMany means that more leases are in force than anybody needs.
var errTooMany = fmt.Errorf("more than %d leases are in force", maxLeases)

// maxLeases bounds memory against software that names a new owner with each push.
const maxLeases = 256

// UnknownProductError means that the catalogue has no such product.
type UnknownProductError struct {
	Product string
	Known   []string
}

func (e *UnknownProductError) Error() string {
	return fmt.Sprintf("the catalogue has no product %q", e.Product)
}

// AmbiguousError means that a push could be about several units.
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
func (e *AmbiguousError) Serials() []string { return serials(e.Units) }

func serials(units []devices.Unit) []string {
	var list []string
	for _, u := range units {
		if u.Serial != "" {
			list = append(list, u.Serial)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Push puts p into force. When it returns, the list that reflects it has been published.
func (e *Engine) Push(p Push) (Pushed, error) {
	out := outcome{err: ErrEnded}
	e.do(func(s *state) { out = s.take(Input{Push: &p}) })
	return out.pushed, out.err
}

// Release takes back what was pushed by this holder without a lease.
func (e *Engine) Release(holder string) { e.tell(Input{Release: holder}) }

func (s *state) release(holder string) {
	s.dropLeases(func(l *lease) bool { return l.until.IsZero() && l.holder == holder }, "its owner's connection has ended")
}

// lease is what one owner says about one product or unit. As soon as its unit is known it belongs to that incarnation, and ends with it.
type lease struct {
	devices.Push
	of     *incarnation // nil: it waits for its unit, or there were several
	seq    uint64       // of what its holder has said
	until  time.Time    // zero: until its holder is released
	holder string

	said       map[devices.Field]time.Time // when each flag was last said
	heard      time.Time                   // when anything was last said
	candidates int                         // how many units were there when it could first have meant one; if several, it has no effect
}

// arrived turns the time of a push into one of the Engine's own clock. A file has only the time of the wall clock, which
// may have been set back since: nothing was said in the future.
func (s *state) arrived(p Push) *Push {
	p.At = s.now.Add(-max(0, s.now.Sub(cmp.Or(p.At, s.now))))
	return &p
}

func (s *state) push(p Push) (Pushed, error) {
	if !slices.Contains(s.opts.Resolver.Products(), p.Product) {
		return Pushed{}, &UnknownProductError{p.Product, s.opts.Resolver.Products()}
	}
	if p.At.Before(s.woke) {
		return Pushed{}, errAsleep
	}
	s.trackUnits()
	found := s.matchingUnits(p)
	if len(found) > 1 && !slices.ContainsFunc(found, hasSound) {
		found = nil // it waits for the first that has sound
	}
	if len(found) > 1 && !p.takesBack() {
		s.dropReplaced(p)
		return Pushed{}, &AmbiguousError{p.Product, found}
	}
	left := len(found) < 2 && s.isOfPast(p, found)
	if left {
		s.dropReplaced(p)
		p.State, found = takenBack(p.State), nil
	}
	l, err := s.leaseFor(p)
	if err != nil {
		return Pushed{}, err
	}
	isOther := l.of != nil && len(found) < 2 && (len(found) == 0 || s.units[found[0].Key] != l.of)
	if !left && (l.candidates > 0 || isOther) {
		l.State, l.Since, l.said = nil, nil, nil // that was about an unknown unit, or one that has left
	}
	l.renew(p, s.now)
	if !left && len(found) < 2 {
		s.bind(l, found)
	}
	s.dirty = true
	s.dropContradicted()
	out := Pushed{Units: len(found), Left: left}
	if l.of != nil && l.of.presence != listed {
		out.Units = 0
	}
	if len(l.State) > 0 && !left {
		out.Until = l.until
	}
	if len(found) == 0 && p.Serial != "" {
		out.Others = serials(s.grouping().Units(p.Product, ""))
	}
	s.eventAt = p.At
	s.touch()
	return out, nil
}

// leaseFor returns the lease that p is about, made if there is none, unless p comes after a later one.
func (s *state) leaseFor(p Push) (*lease, error) {
	i := slices.IndexFunc(s.leases, func(l *lease) bool { return l.saidBefore(p) })
	if i < 0 {
		if len(s.leases) == maxLeases {
			return nil, errTooMany
		}
		s.leases = append(s.leases, &lease{Push: devices.Push{Product: p.Product, Serial: p.Serial, Owner: p.Owner}})
		return s.leases[len(s.leases)-1], nil
	}
	l := s.leases[i]
	if l.overtook(p) {
		return nil, ErrOvertaken
	}
	return l, nil
}

// saidBefore reports whether the lease is what p's software has said before of the same product and serial.
func (l *lease) saidBefore(p Push) bool {
	return l.Product == p.Product && l.Serial == p.Serial && l.Owner == p.Owner
}

// overtook reports whether p comes after a later push over its connection.
func (l *lease) overtook(p Push) bool { return p.Holder == l.holder && p.Seq != 0 && p.Seq < l.seq }

// dropReplaced takes back what p's software no longer says, although p itself does not count because it may mean another unit.
func (s *state) dropReplaced(p Push) {
	s.endLeases(func(l *lease, f devices.Field) bool {
		v, says := p.State[f]
		return says && v != l.State[f] && l.saidBefore(p) && !l.overtook(p)
	}, "its owner says otherwise now, and not of which of several products")
}

// takenBack returns the flags that are taken back.
func takenBack(state map[devices.Field]devices.Tri) map[devices.Field]devices.Tri {
	out := maps.Clone(state)
	maps.DeleteFunc(out, func(_ devices.Field, v devices.Tri) bool { return v.Known() })
	return out
}

// takesBack reports whether p only takes flags back. It takes back what its owner has said, whichever unit that was about.
func (p Push) takesBack() bool {
	for _, v := range p.State {
		if v.Known() {
			return false
		}
	}
	return len(p.State) > 0
}

// renew applies p. It makes new maps, because snapshots may use the old ones.
func (l *lease) renew(p Push, now time.Time) {
	state, since, said := cloned(l.State), cloned(l.Since), cloned(l.said)
	for f, v := range p.State {
		if !v.Known() {
			delete(state, f)
			delete(since, f)
			delete(said, f)
			continue
		}
		if state[f] != v {
			state[f], since[f] = v, p.At
		}
		said[f] = p.At
	}
	l.State, l.Since, l.said = state, since, said
	if p.Holder != l.holder {
		l.seq, l.holder = 0, p.Holder // each connection counts for itself
	}
	l.seq, l.heard = max(l.seq, p.Seq), p.At
	l.until = time.Time{}
	if p.TTL > 0 {
		l.until = now.Add(time.Duration(p.TTL))
	}
}

func cloned[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m)+1)
	maps.Copy(out, m)
	return out
}

// endLeases takes back the flags of leases that have ended. A lease without flags is kept only for its number, until it runs out: pushes
// that it overtook may still come.
func (s *state) endLeases(ended func(*lease, devices.Field) bool, why string) {
	for _, l := range s.leases {
		last := l.Push
		state := maps.Clone(l.State)
		maps.DeleteFunc(state, func(f devices.Field, _ devices.Tri) bool { return ended(l, f) })
		if len(state) == len(l.State) {
			continue
		}
		s.dirty = true
		l.State = state
		s.opts.Log.Info("pushed state taken back",
			"product", l.Product, "owner", l.Owner, "was", stateWords(last.State), "is", stateWords(state), "reason", why)
		s.touch()
		if len(state) == 0 {
			s.bind(l, nil)
		}
	}
	s.leases = slices.DeleteFunc(s.leases, func(l *lease) bool { return len(l.State) == 0 && l.seq == 0 })
}

// dropLeases takes whole leases back: the next origin of their flags counts again.
func (s *state) dropLeases(ended func(*lease) bool, why string) {
	s.endLeases(func(l *lease, _ devices.Field) bool { return ended(l) }, why)
	s.leases = slices.DeleteFunc(s.leases, ended)
}

// ranOut reports whether the time of a lease is over.
func (s *state) ranOut(l *lease) bool { return !l.until.IsZero() && !s.now.Before(l.until) }

// stateWords returns a state in words, for the log.
func stateWords(state map[devices.Field]devices.Tri) string {
	var parts []string
	for _, f := range devices.Fields {
		if v, ok := state[f]; ok {
			parts = append(parts, fmt.Sprintf("%s %s", f, v))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func hasSound(u devices.Unit) bool { return u.Sound }

// matchingUnits returns the units that p may mean.
func (s *state) matchingUnits(p Push) []devices.Unit {
	if p.Unit == "" {
		found := s.grouping().Units(p.Product, p.Serial)
		if len(found) == 1 {
			found = append(found, s.arriving(p, found[0])...)
		}
		return found
	}
	for u := range s.grouping().All() {
		if u.Product == p.Product && u.Key == p.Unit {
			return []devices.Unit{u}
		}
	}
	return nil
}

// arriving returns the units that p may mean, too, because their HID devices have just come, long after the only unit that has sound:
// that of theirs is still to come.
func (s *state) arriving(p Push, beside devices.Unit) (units []devices.Unit) {
	there := s.units[beside.Key]
	for u := range s.grouping().All() {
		inc := s.units[u.Key]
		fits := u.Product == p.Product && u.Key != beside.Key && (p.Serial == "" || p.Serial == u.Serial)
		if fits && u.There && s.now.Sub(inc.since) < lateness && inc.since.Sub(there.since) >= lateness {
			units = append(units, u)
		}
	}
	return units
}

// bind gives the lease to the one unit that it can mean. If there is none the lease waits. If there are several, any of them may have been
// meant, even after the others have left.
func (s *state) bind(l *lease, found []devices.Unit) {
	l.Unit, l.of, l.candidates = "", nil, 0
	switch {
	case len(found) == 1:
		l.Unit, l.of = found[0].Key, s.units[found[0].Key]
	case slices.ContainsFunc(found, hasSound):
		l.candidates = len(found)
	}
}

// bindLeases ends the leases of units that have left, and gives waiting ones to units that have come.
func (s *state) bindLeases() {
	if len(s.leases) == 0 {
		return
	}
	for _, l := range s.leases {
		if len(l.State) == 0 || l.of != nil || l.candidates > 0 {
			continue
		}
		if s.bind(l, s.grouping().Units(l.Product, l.Serial)); l.of != nil || l.candidates > 0 {
			s.dirty = true
			s.touch()
		}
	}
	s.endLeases(func(l *lease, _ devices.Field) bool { return l.of != nil && l.of.presence == gone }, "what it was said of has left")
	s.dropContradicted() // leases that waited may now contradict each other
	s.dropDenied("")
}

// dropDenied takes back flags of which the device itself has reported the contrary, by a level that nobody had asked for and that it sent
// after the push. It knows better than software that says what was so before, and may have crashed since. node is the only one that may
// have reported something; "": any.
func (s *state) dropDenied(node string) {
	if len(s.leases) == 0 {
		return
	}
	type claim struct {
		l *lease
		f devices.Field
	}
	var denied []claim
	for r := range s.hid.Heard(node) {
		f := s.opts.Resolver.FieldOf(r.Product, r.Rule)
		for _, l := range s.leases {
			if l.Product == r.Product && l.of != nil && l.State[f] == r.Value.Not() && r.Since.After(l.said[f]) &&
				s.grouping().UnitOf(r) == l.Unit {
				denied = append(denied, claim{l, f})
			}
		}
	}
	if len(denied) > 0 {
		s.endLeases(func(l *lease, f devices.Field) bool { return slices.Contains(denied, claim{l, f}) },
			"the device itself has reported the contrary since")
	}
}

// dropContradicted takes back what an owner said about a flag before another owner said the contrary about the same flag of the same unit:
// it is outdated, and does not become true again when the newer lease ends.
func (s *state) dropContradicted() {
	type unit struct{ product, key string } // key "": of leases that wait for theirs
	of := func(l *lease) unit { return unit{l.Product, l.Unit} }
	byUnit := make(map[unit][]*lease) // so that many leases of different units cost little
	for _, l := range s.leases {
		byUnit[of(l)] = append(byUnit[of(l)], l)
	}
	s.endLeases(func(l *lease, f devices.Field) bool {
		return slices.ContainsFunc(byUnit[of(l)], func(o *lease) bool {
			return o != l && o.State[f].Known() && o.State[f] != l.State[f] && l.said[f].Before(o.said[f]) && l.meansTheSame(o)
		})
	}, "another owner has said the contrary since")
}

// meansTheSame reports whether two leases of one product are about the same unit or, while they wait, may get the same one.
func (l *lease) meansTheSame(o *lease) bool {
	waitForOne := l.Unit == "" && (l.Serial == o.Serial || l.Serial == "" || o.Serial == "")
	return l.Unit == o.Unit && (l.Unit != "" || waitForOne) && l.candidates == 0 && o.candidates == 0
}

// pushes returns the pushes that have a unit.
func (s *state) pushes() []devices.Push {
	var out []devices.Push
	for _, l := range s.leases {
		if len(l.State) > 0 && l.Unit != "" {
			out = append(out, l.Push)
		}
	}
	return out
}

func (s *state) viewLeases() []Lease {
	out := []Lease{}
	for _, l := range s.leases {
		if len(l.State) == 0 {
			continue
		}
		units := l.candidates
		if l.of != nil && l.of.presence != silent {
			units = 1
		}
		out = append(out, Lease{Push: l.Push, Until: l.until, Units: units})
	}
	slices.SortStableFunc(out, func(a, b Lease) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(a.Serial, b.Serial), cmp.Compare(a.Owner, b.Owner))
	})
	return out
}
