package learn

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
)

// Some bytes of a device's messages say what a message is about. A rule that leaves one of them out takes another message for its own,
// and may show a mute that is none. So a rule names every byte that is the same wherever the state was told, and different in another
// report of the same number: in 'when' what tells the other messages that were seen apart, in 'valid' the rest, which may as well be a
// value beside the state, such as the battery's: with another one the state is unknown.

// statedBy returns the reports of a subset that certainly tell the state: those with which the value changed while mute was pressed.
func (l *analysis) statedBy(c subset, v catalogue.ByteValue) (list []phasedReport) {
	means := v.Compile(true).Means
	last := devices.Unknown
	for _, r := range c.reports {
		if v.Byte >= len(r.data) || !means[r.data[v.Byte]].Known() {
			continue
		}
		now := means[r.data[v.Byte]]
		if l.phases[r.phase].role == pressed && now != last {
			list = append(list, r)
		}
		last = now
	}
	return list
}

// common returns the bytes that are the same in all of the stated reports, and different in another report of the stream.
func (c subset) common(stated []phasedReport, value int) (list []catalogue.ByteTest) {
	for at := c.first(); at < min(testedBytes, c.longest); at++ {
		if c.keys[at] != 0 || at == value || len(stated) == 0 || at >= len(stated[0].data) {
			continue
		}
		test := catalogue.ByteTest{Byte: at, Eq: new(catalogue.Byte(stated[0].data[at]))}
		fails := func(r phasedReport) bool { return !meets(r, test) }
		if !slices.ContainsFunc(stated, fails) && slices.ContainsFunc(c.stream.reports, fails) {
			list = append(list, test)
		}
	}
	return list
}

func meets(r phasedReport, t catalogue.ByteTest) bool {
	return t.Byte < len(r.data) && r.data[t.Byte] == byte(*t.Eq)
}

func meetsAll(r phasedReport, tests []catalogue.ByteTest) bool {
	return !slices.ContainsFunc(tests, func(t catalogue.ByteTest) bool { return !meets(r, t) })
}

// matching returns the reports of the stream that meet the conditions.
func (c subset) matching() []phasedReport {
	return slices.DeleteFunc(slices.Clone(c.stream.reports), func(r phasedReport) bool { return !meetsAll(r, c.when) })
}

// split divides what a rule names into the fewest conditions that tell all other messages apart, and the rest. A report that differs in
// a single byte may be no other message: the byte may say whether its state holds, as on a headset whose boom can be pulled off.
func (c subset) split(common []catalogue.ByteTest) (when, valid []catalogue.ByteTest) {
	var others []phasedReport
	for _, r := range c.stream.reports {
		differs := 0
		for _, t := range common {
			if !meets(r, t) {
				differs++
			}
		}
		if differs > 1 {
			others = append(others, r)
		}
	}
	for len(others) > 0 && len(common) > 0 {
		best, most := 0, 0
		for i, t := range common {
			if n := apart(others, t); n > most { // of equal ones the first: what a message is about stands at its start
				best, most = i, n
			}
		}
		if most == 0 {
			break
		}
		when = append(when, common[best])
		others = slices.DeleteFunc(others, func(r phasedReport) bool { return !meets(r, common[best]) })
		common = slices.Delete(slices.Clone(common), best, best+1)
	}
	slices.SortFunc(when, func(a, b catalogue.ByteTest) int { return a.Byte - b.Byte })
	return when, common
}

// apart returns how many of the other messages do not meet a condition.
func apart(others []phasedReport, t catalogue.ByteTest) (n int) {
	for _, r := range others {
		if !meets(r, t) {
			n++
		}
	}
	return n
}

// narrowLevel gives a level all its conditions.
func (l *analysis) narrowLevel(c subset, v catalogue.ByteValue) (subset, catalogue.ByteValue) {
	c.when, v.Valid = c.split(c.common(l.statedBy(c, v), v.Byte))
	c.reports = c.matching()
	return c, v
}

// narrowToggle gives a rule that counts presses all its conditions. v is nil if each report is a press.
func (l *analysis) narrowToggle(c subset, v *catalogue.ByteValue) subset {
	stated, value := slices.DeleteFunc(slices.Clone(c.reports), func(r phasedReport) bool { return l.phases[r.phase].role != pressed }), -1
	if v != nil {
		stated, value = l.statedBy(c, *v), v.Byte
	}
	c.when = c.common(stated, value)
	c.reports = c.matching()
	return c
}

// isRepeated reports whether a byte of a subset only repeats an earlier one, as a checksum does: their sum, their difference or their
// exclusive or is the same in all reports.
func (c subset) isRepeated(at int) bool {
	for earlier := c.first(); earlier < at; earlier++ {
		sum, difference, xor, changes := true, true, true, false
		var first []byte
		for _, r := range c.reports {
			if at >= len(r.data) {
				continue
			}
			if first == nil {
				first = r.data
			}
			a, b := r.data[earlier], r.data[at]
			sum = sum && a+b == first[earlier]+first[at]
			difference = difference && b-a == first[at]-first[earlier]
			xor = xor && a^b == first[earlier]^first[at]
			changes = changes || a != first[earlier]
		}
		if changes && (sum || difference || xor) {
			return true
		}
	}
	return false
}

// doubtConditions adds what a person must verify about the conditions.
func (c *candidate) doubtConditions(from subset, valid []catalogue.ByteTest) {
	if len(valid) > 0 {
		c.doubt("what 'valid' names was the same whenever mute was told, and different in other reports: the state is unknown after a report"+
			" in which it differs. Remove what is the value of another control, such as the volume or the battery (%s), and move to 'when'"+
			" what says that a report is about something else", bytesOf(valid))
	}
	if len(from.when) == 0 && len(valid) == 0 {
		c.doubt("no other message was seen in %s: use volume, charger and power when you are asked for everything but mute, and learn again."+
			" A message about something else may be taken for mute", from.name())
	}
}

func bytesOf(tests []catalogue.ByteTest) string {
	var parts []string
	for _, t := range tests {
		parts = append(parts, fmt.Sprintf("byte %d", t.Byte))
	}
	return strings.Join(parts, ", ")
}
