package learn

import (
	"fmt"
	"math/bits"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid/descriptor"
)

// toggles finds what happens in the reports of a subset exactly once in each press of mute, and at no other time.
func (l *analysis) toggles(c subset) []candidate {
	var out []candidate
	if v, ok := l.oncePerPress(c); ok {
		out = append(out, v)
	}
	for at := c.first(); at < min(c.longest, descriptor.MaxReport); at++ {
		col := l.column(c.reports, at)
		up, down := l.risesOncePerPress(col)
		l.noteKeys(c, at, up|down)
		excluded := c.keys[at] | l.counters(c, col, at, up|down)
		up, down = up&^excluded, down&^excluded
		if v, ok := button(up, down); ok {
			v.Byte = at
			if !l.mayBeChance(c, col, up|down) {
				out = append(out, l.toggle(c, &v, bitForm))
			}
		} else if c.keys[at] == 0 && (len(c.when) == 0 || len(col.values()) <= maxDistinct) {
			for _, v := range l.codes(col) {
				v.Byte = at
				out = append(out, l.toggle(c, &v, byteForm))
			}
		}
	}
	return out
}

// oncePerPress returns the candidate for which each report of the subset is a press.
func (l *analysis) oncePerPress(c subset) (candidate, bool) {
	if len(c.when) == 0 && len(c.keys) > 0 || c.id == nil && len(c.when) == 0 {
		return candidate{}, false
	}
	col := make(column, len(l.phases))
	for _, r := range c.reports {
		col[r.phase] = append(col[r.phase], 1, 0)
	}
	if up, _ := l.risesOncePerPress(col); up&1 == 0 {
		return candidate{}, false
	}
	return l.toggle(c, nil, bitForm), true
}

// risesOncePerPress finds the bits that become 1 once in each press and at no other time, and those that become 0.
// Like a Tracker, it assumes that the button is up when the first state is known.
func (l *analysis) risesOncePerPress(col column) (up, down byte) {
	up, down = 0xff, 0xff
	var was, wasNot byte
	for i, p := range l.phases {
		if p.role == opening {
			continue
		}
		var ups, downs counter
		for _, v := range col[i] {
			ups.add(v &^ was)
			downs.add(^v &^ wasNot)
			was, wasNot = v, ^v
		}
		if p.role == pressed {
			up, down = up&ups.once(), down&downs.once()
		} else {
			up, down = up&ups.never(), down&downs.never()
		}
		if up|down == 0 {
			break
		}
	}
	return up, down
}

// counter counts for each bit of a byte whether it was set never, once or more than once.
type counter struct{ any, more byte }

func (c *counter) add(b byte) {
	c.more |= c.any & b
	c.any |= b
}

func (c counter) once() byte  { return c.any &^ c.more }
func (c counter) never() byte { return ^c.any }

// button returns the value of a button whose bits become 1, or 0, once in each press.
func button(up, down byte) (catalogue.ByteValue, bool) {
	switch {
	case bits.OnesCount8(up) > 1:
		v := catalogue.ByteValue{On: []catalogue.Byte{catalogue.Byte(up)}}
		if up != 0xff {
			v.Mask = new(catalogue.Byte(up))
		}
		return v, true
	case up != 0:
		return catalogue.ByteValue{Mask: new(catalogue.Byte(up))}, true
	case down != 0:
		return catalogue.ByteValue{Mask: new(catalogue.Byte(down & -down)), Invert: true}, true
	}
	return catalogue.ByteValue{}, false
}

// codes finds the values that a byte takes once in each press.
func (l *analysis) codes(col column) []catalogue.ByteValue {
	values := col.values()
	if len(values) > testedValues {
		return nil
	}
	var out []catalogue.ByteValue
	for _, code := range values {
		is := make(column, len(col))
		for i, values := range col {
			for _, v := range values {
				var hit byte
				if v == code {
					hit = 1
				}
				is[i] = append(is[i], hit)
			}
		}
		if up, _ := l.risesOncePerPress(is); up&1 != 0 {
			out = append(out, catalogue.ByteValue{On: []catalogue.Byte{catalogue.Byte(code)}})
		}
	}
	return out
}

// toggle returns the candidate that counts presses. v is nil if each report is one.
func (l *analysis) toggle(c subset, v *catalogue.ByteValue, form form) candidate {
	searched := c.rank(true, form)
	c = l.narrowToggle(c, v)
	r := l.rule(c, v)
	r.Kind = catalogue.HIDToggle
	cand := newCandidate(catalogue.SourceKind{HIDReport: r}, c.device, searched, len(c.reports))
	what := "it came"
	if v != nil {
		on, _ := meaningsOf(*v)
		what = fmt.Sprintf("%s became %s", location(*v), on)
		if usage := c.declared(v.Byte, maskOf(v.Mask)); usage != "" {
			cand.doubt("the report descriptor declares this place as %s: make sure that it is the mute button", usage)
		}
	} else if len(c.when) == 0 {
		cand.doubt("each %s counts as a press; if the device uses it for something else, too, add a condition (when)", c.name())
	}
	if v != nil {
		cand.doubtConditions(c, nil)
	}
	cand.Why = fmt.Sprintf("%s%s: %s once whenever you pressed mute, and at no other time", c.name(), conditions(c.when), what)
	return cand
}
