package platform

import (
	"os"
	"sync/atomic"
)

// A reader runs step in a goroutine of its own until step fails: it takes what arrives on
// file, which must be non-blocking so that Close wakes a step that waits for it.
type reader struct {
	file   *os.File
	closed atomic.Bool
	done   chan struct{}
	err    error // why step ended; to be read after done is closed
}

// startReader takes over file. It calls broke, which must not block, when step has failed but
// for Close.
func startReader(file *os.File, step func() error, broke func()) *reader {
	r := &reader{file: file, done: make(chan struct{})}
	go func() {
		for r.err == nil {
			r.err = step()
		}
		close(r.done)
		if r.failed() != nil {
			broke()
		}
	}()
	return r
}

// failed returns why nothing is read any more; nil while all is well and after Close.
func (r *reader) failed() error {
	select {
	case <-r.done:
	default:
		return nil
	}
	if r.closed.Load() {
		return nil
	}
	return r.err
}

// Close ends the reading and returns when step runs no more.
func (r *reader) Close() error {
	r.closed.Store(true)
	err := r.file.Close()
	<-r.done
	return err
}
