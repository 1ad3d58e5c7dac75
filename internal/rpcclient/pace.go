package rpcclient

import "time"

// The rate at which one session may send: at most paceBurst at once and pacePerSecond in the
// long run, hence never more than 50 in any second (rule R70).
const (
	paceBurst     = 10
	pacePerSecond = 40
)

// pacer is a token bucket. The zero pacer is full.
type pacer struct {
	next time.Time // when the bucket would be full again, one token's time for each used one
}

// delay says how long to wait before the next payload may go. It uses nothing up.
func (p *pacer) delay(now time.Time) time.Duration {
	const token = time.Second / pacePerSecond
	if !p.next.After(now) { // also the zero pacer, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, p.next.Sub(now)-(paceBurst-1)*token)
}

// use takes one token.
func (p *pacer) use(now time.Time) {
	const token = time.Second / pacePerSecond
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(token)
}
