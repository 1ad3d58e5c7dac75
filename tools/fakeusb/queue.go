package fakeusb

import (
	"context"
	"errors"
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
