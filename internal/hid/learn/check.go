package learn

import (
	"slices"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// maxChecked is how many candidates of one search are checked, best first.
const maxChecked = 24

// accept returns the candidates that pass the check.
func (l *analysis) accept(list []candidate) (out []candidate) {
	slices.SortStableFunc(list, candidate.compare)
	for _, c := range list[:min(len(list), maxChecked)] {
		if l.acceptOne(&c) {
			out = append(out, c)
		}
	}
	return out
}

// acceptOne checks a candidate. For a rule that counts presses it tries one anchor after another.
func (l *analysis) acceptOne(c *candidate) bool {
	if !c.rank.toggle {
		return l.check(c)
	}
	for _, a := range l.anchors() {
		c.Rule.SourceKind = anchored(c.Rule.SourceKind, a)
		if l.check(c) {
			c.doubtAnchor(a)
			return true
		}
	}
	return false
}

// catalogueOf returns a minimal catalogue with one rule for a device.
func catalogueOf(r catalogue.SourceRule, d hid.Device) *catalogue.Catalogue {
	return &catalogue.Catalogue{
		Schema: catalogue.SchemaVersion,
		Vendor: catalogue.Vendor{ID: "learnt", Name: "Learnt", URL: "https://learnt.example", ClientID: "123456789012345678"},
		Products: []catalogue.Product{{
			ID: "learnt", Name: "Learnt", URL: "https://learnt.example", Priority: 1,
			Links:     []catalogue.Link{{Kind: linkKind(d), VID: d.VID, PIDs: []string{d.PID}}},
			Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput}},
			Sources:   []catalogue.SourceRule{r}, AllowWrite: r.HIDQuery != nil,
		}},
	}
}

// linkKind returns the kind of a link on the device's bus. Catalogues support only these two.
func linkKind(d hid.Device) catalogue.LinkKind {
	if d.Bus == devices.Bluetooth {
		return catalogue.LinkBluetooth
	}
	return catalogue.LinkUSB
}

// check runs the rule over the session as the agent would. At each mark its state must be the marked one;
// it may be unknown only before the device's first report. It counts the marks at which it was known.
func (l *analysis) check(c *candidate) bool {
	c.Right, c.Marks = 0, len(l.phases)
	cat := catalogueOf(c.Rule, l.product)
	if len(cat.Check()) > 0 {
		return false
	}
	r := replay{t: hid.NewTracker(catalogue.HIDRules(cat, devices.Linux))}
	start := -1
	if c.rank.toggle {
		// The device is taken to be plugged in at the first mark that says unmuted.
		start = l.ends[slices.IndexFunc(l.phases, func(p phase) bool { return !p.muted })]
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
			c.Right++
		case p.role == untouched && !state.Known() && c.mayBeInvalid(): // another report came
		case state.Known() || c.Right > 0 || p.role == pressed:
			return false
		}
	}
	return c.Right >= minPresses
}

// mayBeInvalid reports whether some reports make the state of the rule unknown.
func (c *candidate) mayBeInvalid() bool {
	r := c.Rule.HIDReport
	return r != nil && r.Value != nil && len(r.Value.Valid) > 0
}

// replay runs the steps of a session through a Tracker.
type replay struct {
	t   *hid.Tracker
	now time.Time
}

// plug attaches the devices that are present after some steps.
func (r *replay) plug(before Session) {
	var present []hid.Event
	for _, step := range before {
		e := step.Event
		if step.Mark != "" || !slices.Contains([]hid.EventKind{hid.Attached, hid.Denied, hid.Failed, hid.Gone}, e.Kind) {
			continue
		}
		present = slices.DeleteFunc(present, func(o hid.Event) bool { return o.Node == e.Node })
		if e.Kind == hid.Attached {
			e.Plugged = true
			present = append(present, e)
		}
	}
	for _, e := range present {
		r.take(Step{Event: e})
	}
}

func (r *replay) take(step Step) {
	if step.At.After(r.now) {
		r.now = step.At
	}
	r.t.Expire(r.now)
	if step.Mark == "" {
		r.t.Apply(step.Event, r.now)
	}
}

// state returns the rule's state over all devices that it reads: muted only if all are.
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
