package fakeusb

import (
	"context"
	"errors"
	"time"
)

// errNotListening means that the host does not fetch what the device reports.
var errNotListening = errors.New("the host does not read the device's interrupt endpoint")

// interruptQueue holds the reports that an interrupt endpoint has yet to send. A real device has little room, too.
type interruptQueue chan []byte

func newInterruptQueue() interruptQueue { return make(interruptQueue, 16) }

func (q interruptQueue) push(report []byte) error {
	select {
	case q <- report:
		return nil
	default:
		return errNotListening
	}
}

func (q interruptQueue) next(ctx context.Context) ([][]byte, error) {
	select {
	case report := <-q:
		return [][]byte{report}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// maxLag is how far a stream may fall behind before it stops catching up: a burst of old audio helps nobody.
const maxLag = 200 * time.Millisecond

// A pacer makes a stream's transfers take the time they take on a real bus, on average. Each endpoint has its own.
type pacer struct {
	next time.Time // when the transfers so far will be done
}

// wait takes d, less the time by which earlier calls overslept. It returns early with the context's error.
func (p *pacer) wait(ctx context.Context, d time.Duration) error {
	if now := time.Now(); p.next.Before(now.Add(-maxLag)) {
		p.next = now
	}
	p.next = p.next.Add(d)
	select {
	case <-time.After(time.Until(p.next)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
