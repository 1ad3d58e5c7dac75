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
	wait  time.Duration // until the next try, with jitter; 0: none is due
}

// failed schedules the next try, after no more than ceiling plus jitter.
func (b *backoff) failed(ceiling time.Duration) {
	b.delay = min(max(2*b.delay, retryFirst), ceiling)
	spread := 1 - retryVariance + 2*retryVariance*rand.Float64()
	b.wait = time.Duration(float64(b.delay) * spread)
}

// worked resets the wait.
func (b *backoff) worked() { *b = backoff{} }
