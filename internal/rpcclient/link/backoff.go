package link

import (
	"cmp"
	"time"
)

// Backoff yields growing waits with jitter.
type Backoff struct {
	first, max time.Duration
	next       time.Duration
	jitter     func() float64
}

// NewBackoff returns one whose waits grow from first to ceiling. jitter yields numbers in [0, 1).
func NewBackoff(first, ceiling time.Duration, jitter func() float64) *Backoff {
	return &Backoff{first: min(first, ceiling), max: ceiling, jitter: jitter}
}

// Wait returns the next wait: doubled each time up to the ceiling, and lengthened by up to a
// fifth so that several agents do not act in step (rule R72).
func (b *Backoff) Wait() time.Duration {
	d := cmp.Or(b.next, b.first)
	b.next = min(2*d, b.max)
	return time.Duration(float64(d) * (1 + 0.2*b.jitter()))
}

// AtCeiling reports whether the waits have reached the ceiling.
func (b *Backoff) AtCeiling() bool { return b.next >= b.max }

// Reset starts over.
func (b *Backoff) Reset() { b.next = 0 }
