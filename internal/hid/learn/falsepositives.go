package learn

import (
	"math"
	"math/bits"
)

const (
	// maxDistinct is how many values a byte may have under conditions. With enough of both, noise fits anything.
	maxDistinct = 4
	// maxFalsePositives is how many noisy bits of a session may be expected to follow the marks by chance
	// before a noisy bit is rejected.
	maxFalsePositives = 0.05
)

// mayBeChance reports whether bits of a byte may follow the marks by chance, because many bits change all
// the time: timestamps, checksums, sound levels. Bits of a byte without other noise are trusted.
func (l *analysis) mayBeChance(c subset, col column, follow byte) bool {
	if col.noisyBits()&^follow == 0 {
		return false
	}
	if len(c.when) > 0 && len(col.masked(^follow).values()) > maxDistinct {
		return true
	}
	expected := float64(l.noisyBits) * math.Exp2(float64(1-col.samples(l.phases))) // of either polarity
	if expected > maxFalsePositives {
		l.rejectedAsNoise++
	}
	return expected > maxFalsePositives
}

// samples returns how often a bit could have been wrong.
func (c column) samples(phases []phase) int {
	n := 0
	for i, p := range phases {
		if p.role == untouched {
			n += len(c[i])
		} else if len(c[i]) > 0 {
			n++
		}
	}
	return n
}

// countNoisyBits returns how many bits of all reports change all the time.
func (l *analysis) countNoisyBits() (n int) {
	for _, s := range l.streams {
		for at := s.first(); at < s.longest; at++ {
			n += bits.OnesCount8(l.column(s.reports, at).noisyBits())
		}
	}
	return n
}
