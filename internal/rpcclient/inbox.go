package rpcclient

import (
	"context"
	"fmt"
	"sync"
)

// inbox hands the one awaited answer from the reader of a link to whoever waits for it.
// Everything else that a server says is dropped: events, and answers to a command that was given
// up, was never sent, or was answered before.
type inbox struct {
	mu     sync.Mutex
	wanted string       // nonce; "" = none
	answer chan message // one slot
	gone   chan struct{}
	err    error // why the link ended, set before gone is closed
}

func newInbox() inbox { return inbox{answer: make(chan message, 1), gone: make(chan struct{})} }

// want makes the answer with this nonce the awaited one.
func (b *inbox) want(nonce string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = nonce
	select {
	case <-b.answer:
	default:
	}
}

// put never blocks.
func (b *inbox) put(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wanted != "" && m.answers(b.wanted) {
		b.wanted = ""
		b.answer <- m
	}
}

// end says that nothing more will come.
func (b *inbox) end(err error) {
	b.err = err
	close(b.gone)
}

// await returns what the awaited answer says. It may be called again after ctx's end.
func (b *inbox) await(ctx context.Context) error {
	select {
	case m := <-b.answer:
		return m.result()
	case <-b.gone:
		select {
		case m := <-b.answer: // came right before the end
			return m.result()
		default:
			return fmt.Errorf("device list: %w", b.err)
		}
	case <-ctx.Done():
		return fmt.Errorf("device list: %w", asNoAnswer(ctx, ctx.Err()))
	}
}

func (b *inbox) lost() <-chan struct{} { return b.gone }

// cause is why the link was lost; only after that.
func (b *inbox) cause() error { return b.err }
