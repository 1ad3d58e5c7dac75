package learn

import (
	"fmt"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid/descriptor"
)

// anchors returns the possible anchors of a rule that counts presses, best first: that the device starts
// unmuted, which no session can show, combined with a report that occasionally tells the state, if any.
func (l *analysis) anchors() []*catalogue.Anchor {
	if l.starts == nil {
		if r := l.occasionalLevel(); r != nil {
			l.starts = append(l.starts, &catalogue.Anchor{Start: new(false), HIDReport: r})
		}
		l.starts = append(l.starts, &catalogue.Anchor{Start: new(false)})
	}
	return l.starts
}

// anchored returns a rule that counts presses with an anchor.
func anchored(k catalogue.SourceKind, a *catalogue.Anchor) catalogue.SourceKind {
	if k.HIDUsage != nil {
		u := *k.HIDUsage
		u.Anchor = a
		return catalogue.SourceKind{HIDUsage: &u}
	}
	r := *k.HIDReport
	r.Anchor = a
	return catalogue.SourceKind{HIDReport: &r}
}

// occasionalLevel finds a bit that showed the state several times, but not after each press, such as in
// a periodic report.
func (l *analysis) occasionalLevel() *catalogue.HIDReport {
	for _, s := range l.streams {
		c := subset{stream: s, reports: s.reports}
		for at := s.first(); at < min(s.longest, descriptor.MaxReport); at++ {
			col := l.column(s.reports, at)
			for bit := byte(1); bit != 0; bit <<= 1 {
				invert, ok := col.masked(bit).agrees(l.phases)
				if ok && (s.keys[at]|l.counters(c, col, at, bit))&bit == 0 && !l.mayBeChance(c, col, bit) {
					return l.rule(c, &catalogue.ByteValue{Byte: at, Mask: new(catalogue.Byte(bit)), Invert: invert})
				}
			}
		}
	}
	return nil
}

// agrees reports whether a bit was never wrong: it has the marked state while mute is not touched, and
// changes to the new one at most once during a press. It must have changed often enough to exclude chance.
func (c column) agrees(phases []phase) (invert, ok bool) {
	for _, invert := range []bool{false, true} {
		if c.changesWith(phases, invert) >= minPresses {
			return invert, true
		}
	}
	return false, false
}

// changesWith counts the changes of a bit, or of its inverse; 0: it was wrong.
func (c column) changesWith(phases []phase, invert bool) int {
	changes := 0
	var last, known bool
	for i, p := range phases {
		if p.role == opening {
			continue
		}
		turned := false
		for _, v := range c[i] {
			muted := (v != 0) != invert
			switch {
			case muted == p.muted:
				turned = true
			case p.role == untouched || turned:
				return 0
			}
			if known && muted != last {
				changes++
			}
			last, known = muted, true
		}
	}
	return changes
}

// doubtAnchor adds what a person must verify about the anchor.
func (c *candidate) doubtAnchor(a *catalogue.Anchor) {
	c.doubt("the device sends presses and no state: 'start: false' claims that it is always unmuted after it was plugged in." +
		" Try that; if it is not so, write 'start: true' or remove the line. It never counts" +
		" for a headset behind a dongle, which needs 'link_up' instead, and a link_state; nor for one on Bluetooth")
	if a.HIDReport != nil {
		c.doubt("%s seems to tell the state now and then, so it became a second anchor: make sure that it does",
			location(*a.HIDReport.Value)+" of "+reportName(a.HIDReport))
	}
	c.doubt("a press that the agent does not see inverts the state;" +
		" prefer a report or a query (hid_query) that tells the state, if the device has one")
}

func reportName(r *catalogue.HIDReport) string {
	if r.ReportID == nil {
		return "the report"
	}
	return fmt.Sprintf("report 0x%02x", int(*r.ReportID))
}
