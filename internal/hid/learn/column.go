package learn

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
func (c column) values() []byte {
	var seen [256]bool
	for _, values := range c {
		for _, v := range values {
			seen[v] = true
		}
	}
	var out []byte
	for v, is := range seen {
		if is {
			out = append(out, byte(v))
		}
	}
	return out
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
	var turns [8]int
	var last byte
	reports := 0
	for _, values := range c {
		for _, v := range values {
			for bit := range turns {
				if reports > 0 && (v^last)&(1<<bit) != 0 {
					turns[bit]++
				}
			}
			last = v
			reports++
		}
	}
	var noisy byte
	for bit, n := range turns {
		if n > reports/8 && (n > 1 || reports < 2*minPresses) {
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
	for low := range bit + 1 {
		for high := max(bit, low+1); high < 8; high++ {
			if c.isCounterOfBits(low, high) {
				return true
			}
		}
	}
	return false
}

// isCounterOfBits reports whether the bits from low to high are a counter.
func (c column) isCounterOfBits(low, high int) bool {
	mask := byte(1<<(high-low+1) - 1)
	var last, step byte
	steps, known := 0, false
	var seen [256]bool
	different := 0
	for _, values := range c {
		for _, v := range values {
			v = v >> low & mask
			switch d := (v - last) & mask; {
			case !known, d == 0:
			case step == 0 || d == step:
				step = d
				steps++
			default:
				return false
			}
			last, known = v, true
			if !seen[v] {
				seen[v] = true
				different++
			}
		}
	}
	return steps >= minPresses && different > 2
}
