package session

import (
	"sync"
	"time"
)

// TokenBucket holds up to size tokens and regains one in each interval; the intervals run from the
// first use of a full bucket. A new bucket is full. Each peer has one that mirrors the client's own
// (rule R67), shared by its session and a better link that is about to replace it. Another one paces
// each session.
type TokenBucket struct {
	mu       sync.Mutex
	size     int
	every    time.Duration
	fullAt   time.Time     // when it is full again: one interval for each used token
	reserved int           // tokens set aside for links
	news     chan struct{} // closed when a wait may have become shorter
}

// NewTokenBucket returns a full bucket.
func NewTokenBucket(size int, every time.Duration) *TokenBucket {
	return &TokenBucket{size: size, every: every, news: make(chan struct{})}
}

// newPacer returns the bucket that limits the lists of one session to 50 in any second (rule R70).
func newPacer() *TokenBucket { return NewTokenBucket(paceBurst, time.Second/pacePerSecond) }

const (
	paceBurst     = 10
	pacePerSecond = 40
)

// Configure changes size and interval. Spent tokens stay spent.
func (b *TokenBucket) Configure(size int, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == size && b.every == every {
		return
	}
	b.size, b.every = size, every
	b.notify()
}

// notify wakes those who wait for a token. mu is held.
func (b *TokenBucket) notify() {
	close(b.news)
	b.news = make(chan struct{})
}

// Changed returns a channel that is closed when a token may be there sooner than delay and linkDelay have said; nil for a nil bucket.
func (b *TokenBucket) Changed() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// Full returns when the bucket is full again.
func (b *TokenBucket) Full() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fullAt
}

// SetFull sets when the bucket is full again; the zero time fills it. By the clock on the wall, which may have been set since, that is no
// later than for a bucket that is empty now.
func (b *TokenBucket) SetFull(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = time.Time{}
	if left := time.Until(at); left > 0 {
		b.fullAt = time.Now().Add(min(left, time.Duration(b.size)*b.every))
	}
	b.notify()
}

// Outstanding returns how many spent tokens are not back yet, and when the next one will be.
func (b *TokenBucket) Outstanding(now time.Time) (n int, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.fullAt.After(now) {
		return 0, 0
	}
	left := b.fullAt.Sub(now)
	n = int((left + b.every - 1) / b.every)
	return n, left - time.Duration(n-1)*b.every
}

// Delay returns how long a list has to wait for a token that no link has reserved. It spends none. A
// nil bucket has no limit.
func (b *TokenBucket) Delay(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1+b.reserved)
}

// LinkDelay returns how long a link has to wait for its token.
func (b *TokenBucket) LinkDelay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1)
}

// delayFor returns how long to wait until there are n tokens. mu is held.
func (b *TokenBucket) delayFor(now time.Time, n int) time.Duration {
	switch {
	case n > b.size:
		return b.every // there never will be; by then one may be enough
	case !b.fullAt.After(now): // also the zero time, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, b.fullAt.Sub(now)-time.Duration(b.size-n)*b.every)
}

// Reserve sets a token aside for a link, which is worth more than another list over the present link.
// The caller must call release, whether or not the token was spent.
func (b *TokenBucket) Reserve() (release func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reserved++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.reserved--
		b.notify()
	}
}

// Spend takes one token. A client that is busy, or whose bucket is emptier than we think, takes it
// later: the caller passes spent the time by which it certainly has. Otherwise our count would run
// ahead of the client's, and the next request would wait in its queue.
func (b *TokenBucket) Spend(now time.Time) (spent func(time.Time)) {
	if b == nil {
		return func(time.Time) {}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fullAt.Before(now) {
		b.fullAt = now
	}
	certain := b.fullAt // from then on it would be full without this token
	b.fullAt = b.fullAt.Add(b.every)
	return func(at time.Time) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if late := at.Sub(certain); late > 0 {
			b.fullAt = b.fullAt.Add(late)
		}
	}
}

// GiveBack undoes one spend.
func (b *TokenBucket) GiveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = b.fullAt.Add(-b.every)
	b.notify()
}
