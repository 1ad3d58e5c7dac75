package learn

import (
	"fmt"
	"math/bits"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// Limits for lists of values that mean muted, or not muted.
const (
	maxValues = 4
	minSeen   = 2 // phases in which each value must occur: a counter has each value once
)

// levels finds the bytes of a subset's reports that show the state.
func (l *analysis) levels(c subset) []candidate {
	var out []candidate
	for _, cand := range l.levelsIn(c) {
		narrow := subset{c.stream, cand.Rule.HIDReport.When, nil}
		narrow.reports = narrow.matching()
		switch at := cand.Rule.HIDReport.Value.Byte; {
		case c.isRepeated(at):
		case narrow.isRepeated(at): // among these reports the earlier byte shows the state, too
			out = append(out, l.levels(narrow)...)
		default:
			out = append(out, cand)
		}
	}
	return out
}

// levelsIn finds the bytes that show the state, also those that only repeat an earlier one.
func (l *analysis) levelsIn(c subset) []candidate {
	var out []candidate
	for at := c.first(); at < min(c.longest, descriptor.MaxReport); at++ {
		col := l.column(c.reports, at)
		direct, inverse := col.bitsThatFollow(l.phases)
		l.noteKeys(c, at, direct|inverse)
		excluded := c.keys[at] | l.counters(c, col, at, direct|inverse)
		direct, inverse = direct&^excluded, inverse&^excluded
		switch {
		case direct|inverse != 0:
			cand := l.bitLevel(c, col, at, direct, inverse)
			if cand.rank.excess <= l.presses() && !l.mayBeChance(c, col, direct|inverse) {
				out = append(out, cand)
			}
		case c.keys[at] == 0:
			if v, ok := col.lists(l.phases); ok {
				v.Byte = at
				out = append(out, l.level(c, col, v, byteForm))
			}
		}
	}
	return out
}

// counters returns the bits of among that are part of a counter, in the subset or in the whole stream.
func (l *analysis) counters(c subset, col column, at int, among byte) byte {
	var mask byte
	for bit := range 8 {
		if among&(1<<bit) != 0 && (col.isCounter(bit) || len(c.when) > 0 && l.column(c.stream.reports, at).isCounter(bit)) {
			mask |= 1 << bit
		}
	}
	return mask
}

// bitsThatFollow finds the bits that are 1 whenever the microphone is muted, and those that are 0 then.
func (c column) bitsThatFollow(phases []phase) (direct, inverse byte) {
	direct, inverse = 0xff, 0xff
	for i, p := range phases {
		values := c[i]
		if p.role == pressed && len(values) == 0 {
			return 0, 0
		}
		if p.role != untouched { // only the last value counts
			values = values[max(0, len(values)-1):]
		}
		for _, v := range values {
			direct &^= v ^ p.allBits()
			inverse &= v ^ p.allBits()
		}
		if direct|inverse == 0 {
			break
		}
	}
	return direct, inverse
}

// bitLevel returns the candidate for bits of a byte that show the state.
func (l *analysis) bitLevel(c subset, col column, at int, direct, inverse byte) candidate {
	mask := direct | inverse
	v := catalogue.ByteValue{Byte: at}
	if mask != 0xff {
		v.Mask = new(catalogue.Byte(mask))
	}
	form := bitForm
	if bits.OnesCount8(mask) == 1 {
		v.Invert = inverse != 0
	} else {
		form = maskForm
		v.On, v.Off = []catalogue.Byte{catalogue.Byte(direct)}, []catalogue.Byte{catalogue.Byte(inverse)}
	}
	return l.level(c, col, v, form)
}

// lists finds the values of a byte that mean muted and not muted.
func (c column) lists(phases []phase) (catalogue.ByteValue, bool) {
	mask := ^c.noise(phases)
	if mask == 0 {
		return catalogue.ByteValue{}, false
	}
	var meaning [256]devices.Tri
	var seen [256]int
	for i, values := range c.masked(mask) {
		p := phases[i]
		if p.role != untouched {
			values = values[max(0, len(values)-1):]
		}
		if p.role == pressed && len(values) == 0 {
			return catalogue.ByteValue{}, false
		}
		for _, v := range distinctBytes(values) {
			if meaning[v].Known() && meaning[v] != devices.Of(p.muted) {
				return catalogue.ByteValue{}, false
			}
			meaning[v] = devices.Of(p.muted)
			seen[v]++
		}
	}
	var out catalogue.ByteValue
	for v, means := range meaning {
		if means.Known() && seen[v] < minSeen {
			return catalogue.ByteValue{}, false
		}
		switch means {
		case devices.True:
			out.On = append(out.On, catalogue.Byte(v))
		case devices.False:
			out.Off = append(out.Off, catalogue.Byte(v))
		}
	}
	if mask != 0xff {
		out.Mask = new(catalogue.Byte(mask))
	}
	return out, len(out.On) <= maxValues && len(out.Off) <= maxValues
}

// level returns the candidate that reads a value.
func (l *analysis) level(c subset, col column, v catalogue.ByteValue, form form) candidate {
	searched := c.rank(false, form)
	c, v = l.narrowLevel(c, v)
	cand := newCandidate(catalogue.SourceKind{HIDReport: l.rule(c, &v)}, c.device, searched, len(c.reports))
	on, off := meaningsOf(v)
	cand.Why = fmt.Sprintf("%s%s: %s is %s whenever you said muted and %s whenever not", c.name(), conditions(c.when), location(v), on, off)
	mask := maskOf(v.Mask)
	cand.rank.excess = l.excessChanges(col, v)
	if cand.rank.excess > 0 {
		cand.doubt("it changed back and forth within a phase; press mute once for each step, and do not hold it")
	}
	if len(c.reports) > 0 && c.reports[0].phase > 0 {
		cand.doubt("the device told nothing before mute was touched: after it is plugged in, the state will be unknown until then")
	}
	cand.doubtConditions(c, v.Valid)
	if l.isRegular(c) {
		cand.doubt("these reports came at regular intervals while nothing was touched: they may be answers to another program, such as the" +
			" vendor's; close it and learn again. If they are, the rule needs 'max_age_ms'")
	}
	if usage := c.declared(v.Byte, mask); usage != "" {
		cand.doubt("the report descriptor declares this place as %s: make sure that it shows mute itself", usage)
	}
	return cand
}

// excessChanges counts a level's changes after the first in each phase.
func (l *analysis) excessChanges(col column, v catalogue.ByteValue) int {
	excess := 0
	means := v.Compile(true).Means
	for i, values := range col {
		if l.phases[i].role == opening {
			continue
		}
		last, known := col.before(i)
		changes := 0
		for _, b := range values {
			if known && means[b] != means[last] {
				changes++
			}
			last, known = b, true
		}
		excess += max(0, changes-1)
	}
	return excess
}

func maskOf(m *catalogue.Byte) byte {
	if m == nil {
		return 0xff
	}
	return byte(*m)
}
