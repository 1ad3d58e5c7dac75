package learn

import "slices"

// column is the values of one byte in the reports of a subset, by phase.
type column [][]byte

func (l *analysis) column(reports []phasedReport, at int) column {
	c := make(column, len(l.phases))
	for _, r := range reports {
		if at < len(r.data) {
			c[r.phase] = append(c[r.phase], r.data[at])
		}
	}
	return c
}

// masked returns the column with all values masked.
func (c column) masked(mask byte) column {
	out := make(column, len(c))
	for i, values := range c {
		for _, v := range values {
			out[i] = append(out[i], v&mask)
		}
	}
	return out
}

// values returns the distinct values, sorted.
func (c column) values() []byte { return distinctBytes(slices.Concat(c...)) }

// distinctBytes sorts values in place, and returns them without duplicates.
func distinctBytes(values []byte) []byte {
	slices.Sort(values)
	return slices.Compact(values)
}

// noise returns the bits that changed while mute was not touched.
func (c column) noise(phases []phase) byte {
	var noise byte
	for i, p := range phases {
		before, known := c.before(i)
		if p.role != untouched {
			continue
		}
		for _, v := range c[i] {
			if known {
				noise |= v ^ before
			}
			before, known = v, true
		}
	}
	return noise
}

// noisyBits returns the bits that changed all the time.
func (c column) noisyBits() byte {
	values := slices.Concat(c...)
	var noisy byte
	for bit := range 8 {
		changes := 0
		for i := 1; i < len(values); i++ {
			changes += int((values[i] ^ values[i-1]) >> bit & 1)
		}
		if changes > len(values)/8 && (changes > 1 || len(values) < 2*minPresses) {
			noisy |= 1 << bit
		}
	}
	return noisy
}

// before returns the last value before a phase; false if there is none.
func (c column) before(phase int) (byte, bool) {
	for i := phase - 1; i >= 0; i-- {
		if n := len(c[i]); n > 0 {
			return c[i][n-1], true
		}
	}
	return 0, false
}

// isCounter reports whether a bit is part of a counter: adjacent bits whose value always changes by the
// same step. A counter's lowest bit flips with each press, as a state does.
func (c column) isCounter(bit int) bool {
	all := slices.Concat(c...)
	for low := range bit + 1 {
		for high := max(bit, low+1); high < 8; high++ {
			if isCounter(all, low, high) {
				return true
			}
		}
	}
	return false
}

// isCounter reports whether the bits from low to high of the values are a counter of more than two values.
func isCounter(values []byte, low, high int) bool {
	mask := byte(1<<(high-low+1) - 1)
	var step byte
	steps := 0
	for i := 1; i < len(values); i++ {
		switch d := (values[i]>>low - values[i-1]>>low) & mask; {
		case d == 0:
		case steps == 0 || d == step:
			step = d
			steps++
		default:
			return false
		}
	}
	return steps >= minPresses && 2*step&mask != 0
}
