package rpcclient

import (
	"cmp"
	"time"
)

// backoff yields growing waits with jitter. Options.backoff makes one.
type backoff struct {
	first, max time.Duration
	next       time.Duration
	jitter     func() float64
}

// wait returns the next wait: doubled each time up to the ceiling, and lengthened by up to a
// fifth so that several agents do not act in step (rule R72).
func (b *backoff) wait() time.Duration {
	d := cmp.Or(b.next, b.first)
	b.next = min(2*d, b.max)
	return time.Duration(float64(d) * (1 + 0.2*b.jitter()))
}

// atCeiling reports whether the waits have reached the ceiling.
func (b *backoff) atCeiling() bool { return b.next >= b.max }

// reset starts over.
func (b *backoff) reset() { b.next = 0 }
