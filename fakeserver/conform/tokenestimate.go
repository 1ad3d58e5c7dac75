package conform

import "time"

// capacity is how many requests of one client id a client lets through at once (rule R67).
const capacity = 2

// A tokenEstimate models the server's rate limit for one client id. It counts the tokens that
// are there for sure, whatever others did before the run: none at first.
type tokenEstimate struct {
	refill time.Duration
	sure   float64 // tokens; negative: requests that may still wait in line
	at     time.Time
	spent  int
}

func (b *tokenEstimate) advance(now time.Time) {
	b.sure = min(capacity, b.sure+float64(now.Sub(b.at))/float64(b.refill))
	b.at = now
}

// wait is the time until a token is there for sure; until then, an answer may be queued.
func (b *tokenEstimate) wait(now time.Time) time.Duration {
	b.advance(now)
	if b.sure >= 1 {
		return 0
	}
	return time.Duration((1 - b.sure) * float64(b.refill))
}

func (b *tokenEstimate) spend(now time.Time) {
	b.advance(now)
	b.sure--
	b.spent++
}

// answered notes that the last request was let through: none of ours is in line.
func (b *tokenEstimate) answered(now time.Time) {
	b.advance(now)
	b.sure = max(b.sure, 0)
}
