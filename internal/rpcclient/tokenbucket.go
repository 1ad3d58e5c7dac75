package rpcclient

import (
	"sync"
	"time"
)

// tokenBucket holds size tokens, and one more in each interval, which run from the first use
// of a full one. A new one is full. One counts along what is left of the tokens of a client (rule
// R67): a session and a better link that is about to follow it draw on the same one. Another paces
// a session.
type tokenBucket struct {
	mu       sync.Mutex
	size     int
	every    time.Duration
	fullAt   time.Time     // one interval for each used token
	reserved int           // tokens that links will take
	resized  chan struct{} // closed when it holds more or less, or gets a token sooner or later, than before
}

func newTokenBucket(size int, every time.Duration) *tokenBucket {
	return &tokenBucket{size: size, every: every, resized: make(chan struct{})}
}

// newPacer limits the lists of one session, hence never more than 50 in any second (rule R70).
func newPacer() *tokenBucket { return newTokenBucket(paceBurst, time.Second/pacePerSecond) }

const (
	paceBurst     = 10
	pacePerSecond = 40
)

// configure changes what a full bucket holds. What was spent stays spent.
func (b *tokenBucket) configure(size int, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == size && b.every == every {
		return
	}
	b.size, b.every = size, every
	close(b.resized)
	b.resized = make(chan struct{})
}

// changed is closed when what delay and linkDelay say from now on may be wrong, in either direction. That of a nil bucket never is.
func (b *tokenBucket) changed() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resized
}

// refill makes it full, as that of another application is.
func (b *tokenBucket) refill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = time.Time{}
}

// full is when it is full again, and setFull sets that as another agent has counted it.
func (b *tokenBucket) full() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fullAt
}

func (b *tokenBucket) setFull(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = at
	if latest := time.Now().Add(time.Duration(b.size) * b.every); at.After(latest) { // the clock was set back
		b.fullAt = latest
	}
}

// outstanding is how many tokens have been spent that are not back yet, and when the next one is.
func (b *tokenBucket) outstanding(now time.Time) (n int, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fullAt.After(now) {
		return 0, 0
	}
	left := b.fullAt.Sub(now)
	n = int((left + b.every - 1) / b.every)
	return n, left - time.Duration(n-1)*b.every
}

// delay is how long a list has to wait for a token that no link has reserved. It uses nothing up. A
// nil bucket has no limit.
func (b *tokenBucket) delay(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1+b.reserved)
}

// linkDelay is how long a link has to wait for its token.
func (b *tokenBucket) linkDelay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1)
}

// delayFor says how long to wait until there are n tokens. mu is held.
func (b *tokenBucket) delayFor(now time.Time, n int) time.Duration {
	switch {
	case n > b.size:
		return b.every // there never are; by then one may be enough
	case !b.fullAt.After(now): // also of a new one, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, b.fullAt.Sub(now)-time.Duration(b.size-n)*b.every)
}

// reserve sets a token aside for a link: it is worth more than a list over the link before.
// Whoever reserves calls release, whether or not it was spent.
func (b *tokenBucket) reserve() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved--
	}
}

// spend takes one token. A client that was busy, or whose bucket is not as full as we think,
// takes it later: what is returned says when it certainly was. Without that our count would run
// ahead of the client's, and the next request would wait in its line.
func (b *tokenBucket) spend(now time.Time) (spent func(time.Time)) {
	if b == nil {
		return func(time.Time) {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fullAt.Before(now) {
		b.fullAt = now
	}
	certain := b.fullAt // from here on it would have been full
	b.fullAt = b.fullAt.Add(b.every)
	return func(at time.Time) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if late := at.Sub(certain); late > 0 {
			b.fullAt = b.fullAt.Add(late)
		}
	}
}

// giveBack takes back what one spend has taken.
func (b *tokenBucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = b.fullAt.Add(-b.every)
}
