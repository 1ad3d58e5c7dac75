package linux

import (
	"errors"
	"os"
	"sync"
	"time"
)

// burstPause is how long events pile up before more are read, so that a program that does many things in a folder at once causes one
// wake-up. An event may be noticed that much later.
const burstPause = 50 * time.Millisecond

// ErrBurst is returned by a step that expects more events at once.
var ErrBurst = errors.New("part of a burst")

// Reader runs step in a goroutine of its own until step fails. step reads what arrives on file, which must be non-blocking so that Close
// wakes it.
type Reader struct {
	file   *os.File
	closed chan struct{}
	close  func()
	done   chan struct{}
	err    error // why step ended; to be read after done is closed
}

// StartReader takes ownership of file. It calls broke, which must not block, when step has failed except because of Close.
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

// Failed returns why reading has ended; nil while it goes on and after Close.
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

// Close ends the reading and returns when step no longer runs.
func (r *Reader) Close() error {
	r.close()
	err := r.file.Close()
	<-r.done
	return err
}
