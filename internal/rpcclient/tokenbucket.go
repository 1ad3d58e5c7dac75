package rpcclient

import (
	"sync"
	"time"
)

// tokenBucket holds up to size tokens and regains one in each interval; the intervals run from the
// first use of a full bucket. A new bucket is full. Each peer has one that mirrors the client's own
// (rule R67), shared by its session and a better link that is about to replace it. Another one paces
// each session.
type tokenBucket struct {
	mu       sync.Mutex
	size     int
	every    time.Duration
	fullAt   time.Time     // when it is full again: one interval for each used token
	reserved int           // tokens set aside for links
	news     chan struct{} // closed when a wait may have become shorter
}

func newTokenBucket(size int, every time.Duration) *tokenBucket {
	return &tokenBucket{size: size, every: every, news: make(chan struct{})}
}

// newPacer returns the bucket that limits the lists of one session to 50 in any second (rule R70).
func newPacer() *tokenBucket { return newTokenBucket(paceBurst, time.Second/pacePerSecond) }

const (
	paceBurst     = 10
	pacePerSecond = 40
)

// configure changes size and interval. Spent tokens stay spent.
func (b *tokenBucket) configure(size int, every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.size == size && b.every == every {
		return
	}
	b.size, b.every = size, every
	b.notify()
}

// notify wakes those who wait for a token. mu is held.
func (b *tokenBucket) notify() {
	close(b.news)
	b.news = make(chan struct{})
}

// changed returns a channel that is closed when a token may be there sooner than delay and linkDelay have said; nil for a nil bucket.
func (b *tokenBucket) changed() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.news
}

// full returns when the bucket is full again.
func (b *tokenBucket) full() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fullAt
}

// setFull sets when the bucket is full again; the zero time fills it.
func (b *tokenBucket) setFull(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = at
	if latest := time.Now().Add(time.Duration(b.size) * b.every); at.After(latest) { // the clock was set back
		b.fullAt = latest
	}
	b.notify()
}

// outstanding returns how many spent tokens are not back yet, and when the next one will be.
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

// delay returns how long a list has to wait for a token that no link has reserved. It spends none. A
// nil bucket has no limit.
func (b *tokenBucket) delay(now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1+b.reserved)
}

// linkDelay returns how long a link has to wait for its token.
func (b *tokenBucket) linkDelay(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delayFor(now, 1)
}

// delayFor returns how long to wait until there are n tokens. mu is held.
func (b *tokenBucket) delayFor(now time.Time, n int) time.Duration {
	switch {
	case n > b.size:
		return b.every // there never will be; by then one may be enough
	case !b.fullAt.After(now): // also the zero time, whose distance from now does not fit a Duration
		return 0
	}
	return max(0, b.fullAt.Sub(now)-time.Duration(b.size-n)*b.every)
}

// reserve sets a token aside for a link, which is worth more than another list over the present link.
// The caller must call release, whether or not the token was spent.
func (b *tokenBucket) reserve() (release func()) {
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

// spend takes one token. A client that is busy, or whose bucket is emptier than we think, takes it
// later: the caller passes spent the time by which it certainly has. Otherwise our count would run
// ahead of the client's, and the next request would wait in its queue.
func (b *tokenBucket) spend(now time.Time) (spent func(time.Time)) {
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

// giveBack undoes one spend.
func (b *tokenBucket) giveBack() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullAt = b.fullAt.Add(-b.every)
	b.notify()
}
