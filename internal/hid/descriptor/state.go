package descriptor

import "math"

// globalItems apply until they are redefined (HID 1.11, section 6.2.2.7).
type globalItems struct {
	page        uint16
	min, max    int32
	unsignedMax uint32
	size, count uint32
	id          uint8
}

// logical returns the range of values. The maximum is signed, so 25 ff is -1. Many descriptors write it
// unsigned if the minimum is not negative, so a negative maximum is then read as unsigned: 255.
func (g globalItems) logical() (low, high int32) {
	if g.min >= 0 && g.max < 0 {
		return g.min, int32(min(g.unsignedMax, math.MaxInt32))
	}
	return g.min, g.max
}

// localItems apply up to the next main item (HID 1.11, section 6.2.2.8).
type localItems struct {
	usages    usageList
	low, high *item // ends of a range, until both are known
	set       usageSet
}

// usageSet is the state of a delimited set: alternative usages of one control, of which the first is preferred.
type usageSet string

const (
	usageSetNone  usageSet = ""
	usageSetOpen  usageSet = "open"
	usageSetTaken usageSet = "taken" // open, and its usage was read
)

// add appends a range of usages on one page.
func (l *localItems) add(first, last uint32, extended bool) {
	if l.set == usageSetTaken {
		return
	}
	if l.set == usageSetOpen {
		l.set = usageSetTaken
	}
	l.usages = l.usages.add(first, last, extended)
}

// addRange appends a range as soon as both ends are known. A range that is empty or spans pages is ignored.
func (l *localItems) addRange(page uint16) {
	if l.low == nil || l.high == nil {
		return
	}
	first, last := l.low.unsigned(), l.high.unsigned()
	low, high := l.low.extended(), l.high.extended()
	l.low, l.high = nil, nil
	switch {
	case !low && !high:
		first, last = fullUsage(page, uint16(first)), fullUsage(page, uint16(last))
	case !low:
		first |= last &^ 0xffff
	case !high:
		last |= first &^ 0xffff
	}
	if first <= last && first>>16 == last>>16 {
		l.add(first, last, low || high)
	}
}

// complete applies a page that was declared after the usages: a main item "concatenates the last declared
// Usage Page with a Usage" (HID 1.11, section 6.2.2.8). If the page changes between the usages, the earlier
// ones keep theirs, as in Linux.
func (l *localItems) complete(page uint16) {
	for i := len(l.usages) - 1; i >= 0; i-- {
		r := &l.usages[i]
		if r.extended {
			continue
		}
		if r.first>>16 == uint32(page) {
			return
		}
		r.first, r.last = fullUsage(page, uint16(r.first)), fullUsage(page, uint16(r.last))
	}
}
