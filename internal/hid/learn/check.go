package learn

import (
	"slices"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// mostChecked is how many candidates of one search are checked, best first.
const mostChecked = 24

// accepted is a candidate that has stood the check.
type accepted struct {
	candidate
	right int // at how many marks it gave the marked state
}

func (a accepted) proposal(marks int) Proposal {
	return Proposal{
		Rule:   catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: a.SourceKind},
		Device: a.device, Why: a.why, Reports: a.reports, Right: a.right, Marks: marks, Doubts: a.doubts,
	}
}

// accept returns the candidates that stand the check.
func (l *analysis) accept(list []candidate) []accepted {
	slices.SortStableFunc(list, func(a, b candidate) int { return a.rank.compare(b.rank) })
	var out []accepted
	for _, c := range list[:min(len(list), mostChecked)] {
		if a, ok := l.acceptOne(c); ok {
			out = append(out, a)
		}
	}
	return out
}

// acceptOne tries the anchors of a rule that counts presses one after another.
func (l *analysis) acceptOne(c candidate) (accepted, bool) {
	if !c.rank.toggle {
		right, ok := l.check(c.SourceKind)
		return accepted{c, right}, ok
	}
	for _, a := range l.anchors() {
		c.SourceKind = anchored(c.SourceKind, a)
		if right, ok := l.check(c.SourceKind); ok {
			c.doubtAnchor(a)
			return accepted{c, right}, true
		}
	}
	return accepted{}, false
}

// catalogueOf is the smallest catalogue with a rule for a device.
func catalogueOf(r catalogue.SourceRule, d hid.Device) *catalogue.Catalogue {
	return &catalogue.Catalogue{
		Schema: catalogue.SchemaVersion,
		Vendor: catalogue.Vendor{ID: "learnt", Name: "Learnt", URL: "https://learnt.example", ClientID: "123456789012345678"},
		Products: []catalogue.Product{{
			ID: "learnt", Name: "Learnt", URL: "https://learnt.example", Priority: 1,
			Links:     []catalogue.Link{{Kind: linkKind(d), VID: d.VID, PIDs: []string{d.PID}}},
			Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput}},
			Sources:   []catalogue.SourceRule{r},
		}},
	}
}

// linkKind is how a catalogue names the device's bus. Other buses than these two have no name.
func linkKind(d hid.Device) catalogue.LinkKind {
	if d.Bus == devices.Bluetooth {
		return catalogue.LinkBluetooth
	}
	return catalogue.LinkUSB
}

// check runs a rule over the session as the agent would. At each mark its state must be the marked
// one; only before the device has told anything may it be unknown. It returns at how many marks it
// was known.
func (l *analysis) check(k catalogue.SourceKind) (right int, ok bool) {
	cat := catalogueOf(catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: k}, l.product)
	if len(cat.Check()) > 0 {
		return 0, false
	}
	r := replay{t: hid.NewTracker(catalogue.HIDRules(cat, devices.Linux))}
	start := -1
	if anchorOf(k) != nil {
		start = l.firstUnmuted()
		r.plug(l.session[:start])
	}
	at := 0
	for i, step := range l.session[:l.ends[len(l.ends)-1]+1] {
		if i >= start {
			r.take(step)
		}
		if i != l.ends[at] {
			continue
		}
		p, state := l.phases[at], r.state()
		at++
		switch {
		case i < start:
		case state == devices.Of(p.muted):
			right++
		case state.Known() || right > 0 || p.role == pressed:
			return 0, false
		}
	}
	return right, right >= leastPresses
}

// firstUnmuted is where in the session the first mark is that says unmuted. A rule that counts
// presses begins there: that is taken for the moment when the device was plugged in.
func (l *analysis) firstUnmuted() int {
	i := slices.IndexFunc(l.phases, func(p phase) bool { return !p.muted })
	return l.ends[i]
}

// replay runs the steps of a session through a Tracker.
type replay struct {
	t   *hid.Tracker
	now time.Time
}

// plug plugs in the devices that are there after some steps.
func (r *replay) plug(before Session) {
	var there []hid.Event
	for _, step := range before {
		e := step.Event
		if e.Kind == hid.Attached || e.Kind == hid.Denied || e.Kind == hid.Gone {
			there = slices.DeleteFunc(there, func(o hid.Event) bool { return o.Node == e.Node })
		}
		if step.Mark == "" && e.Kind == hid.Attached {
			e.Plugged = true
			there = append(there, e)
		}
	}
	for _, e := range there {
		r.take(Step{Event: e})
	}
}

func (r *replay) take(step Step) {
	at := step.At
	if step.Mark == "" {
		at = step.Event.At
	}
	if at.After(r.now) {
		r.now = at
	}
	r.t.Expire(r.now)
	if step.Mark == "" {
		r.t.Apply(step.Event, r.now)
	}
}

// state is what the rule knows: what all devices that it reads agree on, muted only if all are.
func (r *replay) state() devices.Tri {
	readings := r.t.Readings()
	if len(readings) == 0 {
		return devices.Unknown
	}
	state := devices.True
	for _, reading := range readings {
		state = state.And(reading.Value)
	}
	return state
}
