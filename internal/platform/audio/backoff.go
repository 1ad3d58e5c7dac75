package audio

import (
	"math/rand/v2"
	"time"

	"sidetone/internal/signal"
)

const (
	retryFirst    = 100 * time.Millisecond
	retryVariance = 0.2
)

// backoff says when to try again what has failed, at growing intervals with jitter.
type backoff struct {
	retry signal.Signal
	timer *time.Timer
	delay time.Duration // 0: the last try has worked
}

func newBackoff() *backoff { return &backoff{retry: signal.New()} }

// failed schedules the next try, after no more than ceiling plus jitter.
func (b *backoff) failed(ceiling time.Duration) {
	b.delay = min(max(2*b.delay, retryFirst), ceiling)
	spread := 1 - retryVariance + 2*retryVariance*rand.Float64()
	b.stop()
	b.timer = time.AfterFunc(time.Duration(float64(b.delay)*spread), b.retry.Notify)
}

// worked resets the wait.
func (b *backoff) worked() {
	b.delay = 0
	b.stop()
}

// due is notified when a try is due.
func (b *backoff) due() <-chan struct{} { return b.retry }

func (b *backoff) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}
