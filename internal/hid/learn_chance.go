package hid

import (
	"math"
	"math/bits"
)

const (
	// calm is how many values a byte may have under conditions. With enough of both, noise follows
	// anything.
	calm = 4
	// luck is how many of the lively bits of a session may be expected to follow the marks by chance,
	// if one of them is to be believed.
	luck = 0.05
)

// byChance reports whether bits of a byte may follow the marks only because so many others turn
// all the time: timestamps, checksums, levels of sound. Bits of a byte that is calm but for them are
// taken at their word.
func (l *lesson) byChance(c class, col column, follow byte) bool {
	if col.lively()&^follow == 0 {
		return false
	}
	if len(c.when) > 0 && len(col.masked(^follow).values()) > calm {
		return true
	}
	lucky := float64(l.livelyBits()) * math.Exp2(float64(1-col.told(l.phases))) // of either polarity
	if lucky > luck {
		l.doubtful++
	}
	return lucky > luck
}

// told is how often a bit had the chance to be wrong.
func (c column) told(phases []phase) int {
	n := 0
	for i, p := range phases {
		if p.role == still {
			n += len(c[i])
		} else if len(c[i]) > 0 {
			n++
		}
	}
	return n
}

// livelyBits is how many bits of all reports turn all the time.
func (l *lesson) livelyBits() int {
	if l.lively == nil {
		n := 0
		for _, s := range l.streams {
			for at := s.first(); at < s.longest; at++ {
				n += bits.OnesCount8(l.column(s.reports, at).lively())
			}
		}
		l.lively = &n
	}
	return *l.lively
}
