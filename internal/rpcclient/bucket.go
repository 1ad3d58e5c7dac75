package rpcclient

import (
	"sync"
	"time"
)

// bucket counts along what is left of the tokens of one client (rule R67). A session and a
// better link that is about to follow it draw on the same one.
type bucket struct {
	mu       sync.Mutex
	limit    limiter
	reserved int // tokens that links will take
}

func newBucket(size int, every time.Duration) *bucket {
	return &bucket{limit: limiter{size: size, every: every}}
}

// configure changes what a full bucket holds. What was spent stays spent.
func (b *bucket) configure(size int, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit.size, b.limit.every = size, every
}

// renew makes it that of another application.
func (b *bucket) renew(size int, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit = limiter{size: size, every: every}
}

// delay is how long a list has to wait for a token that no link has reserved. A nil bucket has
// no limit.
func (b *bucket) delay(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit.delayFor(now, 1+b.reserved)
}

// reserve sets a token aside for a link: it is worth more than a list over the link before.
// Whoever reserves calls release, whether or not it was spent.
func (b *bucket) reserve() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved--
	}
}

// linkDelay is how long a link has to wait for its token.
func (b *bucket) linkDelay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit.delay(now)
}

// spend takes one token. A client that was busy, or whose bucket is not as full as we think,
// takes it later: what is returned says when it certainly was. Without that our count would run
// ahead of the client's, and the next request would wait in its line.
func (b *bucket) spend(now time.Time) (spent func(time.Time)) {
	if b == nil {
		return func(time.Time) {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	certain := b.limit.next // from here on it would have been full
	if certain.Before(now) {
		certain = now
	}
	b.limit.use(now)
	return func(at time.Time) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if late := at.Sub(certain); late > 0 {
			b.limit.next = b.limit.next.Add(late)
		}
	}
}

// giveBack takes back what one spend has taken.
func (b *bucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limit.next = b.limit.next.Add(-b.limit.every)
}
