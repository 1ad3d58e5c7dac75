package learn

import (
	"slices"
	"time"
)

// minRegular is how many equal intervals are no chance.
const minRegular = 3

// isRegular reports whether the reports of a subset came at equal intervals while nothing was touched: the device may send them by
// itself, or answer another program that asks it again and again.
func (l *analysis) isRegular(c subset) bool {
	for i, p := range l.phases {
		if p.Mark != MarkHandsOff {
			continue
		}
		var gaps []time.Duration
		var last time.Time
		for _, r := range c.reports {
			if r.phase != i {
				continue
			}
			if !last.IsZero() {
				gaps = append(gaps, r.at.Sub(last))
			}
			last = r.at
		}
		if len(gaps) < minRegular {
			continue
		}
		if least, most := slices.Min(gaps), slices.Max(gaps); least > 50*time.Millisecond && most-least < least/4 {
			return true
		}
	}
	return false
}
