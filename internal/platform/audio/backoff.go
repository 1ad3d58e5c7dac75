package audio

import (
	"math/rand/v2"
	"time"
)

const (
	retryFirst    = 100 * time.Millisecond
	retryVariance = 0.2
)

// backoff says when to try again what has failed, at growing intervals with jitter.
type backoff struct {
	delay time.Duration // 0: the last try has worked
	due   time.Time     // of the next try, with jitter; zero: none
}

// failed schedules the next try, after no more than ceiling plus jitter.
func (b *backoff) failed(ceiling time.Duration) {
	b.delay = min(max(2*b.delay, retryFirst), ceiling)
	spread := 1 - retryVariance + 2*retryVariance*rand.Float64()
	b.due = time.Now().Add(time.Duration(float64(b.delay) * spread))
}

// wait is the time until the next try; 0: none is due.
func (b *backoff) wait() time.Duration {
	if b.due.IsZero() {
		return 0
	}
	return max(time.Until(b.due), time.Nanosecond)
}

// worked resets the wait.
func (b *backoff) worked() { *b = backoff{} }
