package rpcclient

import "time"

// limiter is a token bucket: size tokens, one more in each interval, which run from the first
// use of a full one. A new one is full.
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
func (l *limiter) delay(now time.Time) time.Duration { return l.delayFor(now, 1) }

// delayFor says how long to wait until there are n tokens.
func (l *limiter) delayFor(now time.Time, n int) time.Duration {
	switch {
	case n > l.size:
		return l.every // there never are; by then one may be enough
	case !l.next.After(now): // also of a new one, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, l.next.Sub(now)-time.Duration(l.size-n)*l.every)
}

// use takes one token.
func (l *limiter) use(now time.Time) {
	if l.next.Before(now) {
		l.next = now
	}
	l.next = l.next.Add(l.every)
}
