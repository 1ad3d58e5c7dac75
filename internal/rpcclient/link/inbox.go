package link

import (
	"context"
	"fmt"
	"sync"
)

// inbox passes the awaited answer from the reader of a link to the goroutine that waits for it. It drops
// everything else that the server says: events, and answers to commands that were given up, never sent,
// or answered before.
type inbox struct {
	mu     sync.Mutex
	wanted string       // nonce; "" = none
	answer chan message // one slot
	gone   chan struct{}
	err    error // why the link ended, set before gone is closed
}

// want makes put pass on the answer with this nonce, and no earlier one.
func (b *inbox) want(nonce string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = nonce
	select {
	case <-b.answer:
	default:
	}
}

// put passes m on if it is the awaited answer. It never blocks.
func (b *inbox) put(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wanted != "" && m.answers(b.wanted) {
		b.wanted = ""
		b.answer <- m
	}
}

// end says that the link has ended, because of err.
func (b *inbox) end(err error) {
	b.err = err
	close(b.gone)
}

// await returns the result of the awaited answer. It may be called again after ctx has ended.
func (b *inbox) Await(ctx context.Context) error {
	select {
	case m := <-b.answer:
		return m.result()
	case <-b.gone:
		select {
		case m := <-b.answer: // it came right before the end
			return m.result()
		default:
			return fmt.Errorf("device list: %w", b.err)
		}
	case <-ctx.Done():
		return fmt.Errorf("device list: %w", asNoAnswer(ctx, ctx.Err()))
	}
}

func (b *inbox) Lost() <-chan struct{} { return b.gone }

// cause returns why the link was lost. It must be called only after that.
func (b *inbox) Cause() error { return b.err }
