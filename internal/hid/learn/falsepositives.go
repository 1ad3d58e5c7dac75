package learn

import (
	"math"
	"math/bits"
)

const (
	// maxDistinct is how many values a byte may have under conditions. With enough of both, noise follows
	// anything.
	maxDistinct = 4
	// maxFalsePositives is how many of the noisy bits of a session may be expected to follow the marks by chance,
	// if one of them is to be believed.
	maxFalsePositives = 0.05
)

// mayBeChance reports whether bits of a byte may follow the marks only because so many others turn
// all the time: timestamps, checksums, levels of sound. Bits of a byte that has no noise but for them are
// taken at their word.
func (l *analysis) mayBeChance(c subset, col column, follow byte) bool {
	if col.noisyBits()&^follow == 0 {
		return false
	}
	if len(c.when) > 0 && len(col.masked(^follow).values()) > maxDistinct {
		return true
	}
	expected := float64(l.countNoisyBits()) * math.Exp2(float64(1-col.samples(l.phases))) // of either polarity
	if expected > maxFalsePositives {
		l.rejectedAsNoise++
	}
	return expected > maxFalsePositives
}

// samples is how often a bit had the chance to be wrong.
func (c column) samples(phases []phase) int {
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

// countNoisyBits is how many bits of all reports turn all the time.
func (l *analysis) countNoisyBits() int {
	if l.noisyBits == nil {
		n := 0
		for _, s := range l.streams {
			for at := s.first(); at < s.longest; at++ {
				n += bits.OnesCount8(l.column(s.reports, at).noisyBits())
			}
		}
		l.noisyBits = &n
	}
	return *l.noisyBits
}
