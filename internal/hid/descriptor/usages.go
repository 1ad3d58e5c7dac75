package descriptor

import (
	"slices"
	"sort"
)

// fullUsage combines a page and a usage.
func fullUsage(page, usage uint16) uint32 { return uint32(page)<<16 | uint32(usage) }

// usageRange is a range of usages on one page.
type usageRange struct {
	first, last uint32 // with the page, both included
	end         int    // how many usages the list has up to and including this range
	extended    bool   // the page was declared with the usage (HID 1.11, section 6.2.2.8)
}

// usageList is the usages of a main item, in order.
type usageList []usageRange

func (l usageList) add(first, last uint32, extended bool) usageList {
	return append(l, usageRange{first: first, last: last, end: l.len() + int(last-first) + 1, extended: extended})
}

func (l usageList) len() int {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].end
}

// at returns the usage at index i.
func (l usageList) at(i int) (uint32, bool) {
	if i < 0 || i >= l.len() {
		return 0, false
	}
	r := l[sort.Search(len(l), func(k int) bool { return l[k].end > i })]
	return r.last - uint32(r.end-1-i), true
}

func (l usageList) contains(usage uint32) bool {
	return slices.ContainsFunc(l, func(r usageRange) bool { return r.first <= usage && usage <= r.last })
}
