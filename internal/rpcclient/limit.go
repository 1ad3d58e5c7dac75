package rpcclient

import "time"

// limiter is a token bucket: size tokens, one more in each interval. A new one is full.
type limiter struct {
	size  int
	every time.Duration
	next  time.Time // when it would be full again, one interval for each used token
}

// newPacer limits the lists of one session, hence never more than 50 in any second (rule R70).
func newPacer() limiter { return limiter{size: paceBurst, every: time.Second / pacePerSecond} }

const (
	paceBurst     = 10
	pacePerSecond = 40
)

// delay says how long to wait for the next token. It uses nothing up.
func (l *limiter) delay(now time.Time) time.Duration {
	if !l.next.After(now) { // also of a new one, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, l.next.Sub(now)-time.Duration(l.size-1)*l.every)
}

// use takes one token.
func (l *limiter) use(now time.Time) {
	if l.next.Before(now) {
		l.next = now
	}
	l.next = l.next.Add(l.every)
}

// spend takes one token of a client's bucket. A client that was busy, or whose bucket is not as
// full as we think, takes it later: what is returned says when it certainly was. Without that
// our count would run ahead of the client's, and the next request would wait in its line. A nil
// limiter has no limit.
func (l *limiter) spend(now time.Time) (spent func(time.Time)) {
	if l == nil {
		return func(time.Time) {}
	}
	before := l.next
	l.use(now)
	return func(at time.Time) {
		l.next = before
		l.use(at)
	}
}
