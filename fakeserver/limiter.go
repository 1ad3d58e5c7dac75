package fakeserver

import (
	"slices"
	"sync"
	"time"
)

// A limiter is a token bucket for each client id. Requests beyond the bucket's
// size wait in line, first in, first out, and are never refused (rule R67).
type limiter struct {
	size    int           // tokens of a full bucket; 0 or less: no limit
	refill  time.Duration // for one token
	changed func()        // called when the counts have changed

	mu      sync.Mutex
	buckets map[string]*bucket // by client id; a full one may be absent
	counts  Stats              // only Queued, Waited and Spent are set
	frozen  bool               // no request is let through
}

type bucket struct {
	tokens int
	since  time.Time // when the refill of the next token began
	line   []*turn
	timer  *time.Timer // runs while a request waits
}

// A turn is the place of one request in the line.
type turn struct {
	limiter *limiter
	bucket  *bucket       // nil if there is no limit
	granted chan struct{} // closed when the request is let through
}

func newLimiter(size int, refill time.Duration, changed func()) *limiter {
	return &limiter{size: size, refill: refill, changed: changed, buckets: map[string]*bucket{}}
}

// unlock unlocks the limiter after a change of its counts.
func (l *limiter) unlock() {
	l.mu.Unlock()
	l.changed()
}

// reset fills all buckets, as a start of the client does. It empties the lines of
// requests that went away; no request may still be waiting.
func (l *limiter) reset() {
	l.mu.Lock()
	defer l.unlock()
	for _, b := range l.buckets {
		b.timer.Stop()
		l.counts.Queued -= len(b.line)
		b.line = nil
	}
	clear(l.buckets)
}

// setFrozen begins or ends a freeze. At its end, requests are let through whose turn has come meanwhile.
func (l *limiter) setFrozen(frozen bool) {
	l.mu.Lock()
	defer l.unlock()
	l.frozen = frozen
	for _, b := range l.buckets {
		l.serve(b)
	}
}

func (l *limiter) state() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

// join takes a token, or a place in the line. A request without a client id
// needs none.
func (l *limiter) join(id string) *turn {
	t := &turn{limiter: l, granted: make(chan struct{})}
	if l.size <= 0 || id == "" {
		close(t.granted)
		return t
	}
	l.mu.Lock()
	defer l.unlock()
	b := l.bucketOf(id)
	t.bucket = b
	b.line = append(b.line, t)
	l.counts.Queued++
	l.serve(b)
	if slices.Contains(b.line, t) {
		l.counts.Waited++
	}
	return t
}

// bucketOf returns the bucket of a client id, a new full one if there is none. It
// drops others that have become full. mu is held.
func (l *limiter) bucketOf(id string) *bucket {
	if b, ok := l.buckets[id]; ok {
		return b
	}
	for other, b := range l.buckets {
		l.addTokens(b)
		if b.tokens == l.size && len(b.line) == 0 {
			delete(l.buckets, other)
		}
	}
	b := &bucket{tokens: l.size}
	b.timer = time.AfterFunc(l.refill, func() {
		l.mu.Lock()
		defer l.unlock()
		l.serve(b)
	})
	b.timer.Stop()
	l.buckets[id] = b
	return b
}

// addTokens adds the tokens that have become due. mu is held.
func (l *limiter) addTokens(b *bucket) {
	now := time.Now()
	if due := now.Sub(b.since) / l.refill; due > 0 {
		b.tokens += int(min(due, time.Duration(l.size-b.tokens)))
		b.since = b.since.Add(due * l.refill)
	}
	if b.tokens == l.size {
		b.since = now
	}
}

// serve lets requests through while there are tokens, and sets the timer for the
// rest. mu is held.
func (l *limiter) serve(b *bucket) {
	if l.frozen {
		return
	}
	l.addTokens(b)
	for len(b.line) > 0 && b.tokens > 0 {
		close(b.line[0].granted)
		b.line[0] = nil
		b.line = b.line[1:]
		b.tokens--
		l.counts.Spent++
		l.counts.Queued--
	}
	if len(b.line) == 0 {
		b.timer.Stop()
	} else {
		b.timer.Reset(time.Until(b.since.Add(l.refill)))
	}
}

// wait waits for the turn. It reports false if one of the channels was closed
// before.
func (t *turn) wait(closed, gone <-chan struct{}) bool {
	select {
	case <-t.granted:
		return true
	case <-closed:
	case <-gone:
	}
	return false
}

// cancel leaves the line, so that the request costs no token.
func (t *turn) cancel() {
	l, b := t.limiter, t.bucket
	l.mu.Lock()
	defer l.unlock()
	if i := slices.Index(b.line, t); i >= 0 {
		b.line = slices.Delete(b.line, i, i+1)
		l.counts.Queued--
		l.serve(b)
	}
}
