package linux

import (
	"errors"
	"os"
	"sync"
	"time"
)

// burstPause is how long events pile up before more are read: one wake-up is enough for all that a
// program does to a folder at once. What counts may be noticed as much later.
const burstPause = 50 * time.Millisecond

// ErrBurst is what a step returns that expects more of the same at once.
var ErrBurst = errors.New("part of a burst")

// Reader runs step in a goroutine of its own until step fails: it takes what arrives on
// file, which must be non-blocking so that Close wakes a step that waits for it.
type Reader struct {
	file   *os.File
	closed chan struct{}
	close  func()
	done   chan struct{}
	err    error // why step ended; to be read after done is closed
}

// StartReader takes over file. It calls broke, which must not block, when step has failed but
// for Close.
func StartReader(file *os.File, step func() error, broke func()) *Reader {
	r := &Reader{file: file, closed: make(chan struct{}), done: make(chan struct{})}
	r.close = sync.OnceFunc(func() { close(r.closed) })
	go func() {
		for r.err == nil {
			err := step()
			if !errors.Is(err, ErrBurst) {
				r.err = err
				continue
			}
			select {
			case <-time.After(burstPause):
			case <-r.closed:
			}
		}
		close(r.done)
		if r.Failed() != nil {
			broke()
		}
	}()
	return r
}

// Done is closed when nothing is read any more.
func (r *Reader) Done() <-chan struct{} { return r.done }

// Failed returns why nothing is read any more; nil while all is well and after Close.
func (r *Reader) Failed() error {
	select {
	case <-r.done:
	default:
		return nil
	}
	select {
	case <-r.closed:
		return nil
	default:
		return r.err
	}
}

// Close ends the reading and returns when step runs no more.
func (r *Reader) Close() error {
	r.close()
	err := r.file.Close()
	<-r.done
	return err
}
