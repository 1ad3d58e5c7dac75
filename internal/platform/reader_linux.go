package platform

import (
	"errors"
	"os"
	"sync"
	"time"
)

// burstPause is how long events pile up before more are read: one wake-up is enough for all that a
// program does to a folder at once. What counts may be noticed as much later.
const burstPause = 50 * time.Millisecond

// errBurst is what a step returns that expects more of the same at once.
var errBurst = errors.New("part of a burst")

// A reader runs step in a goroutine of its own until step fails: it takes what arrives on
// file, which must be non-blocking so that Close wakes a step that waits for it.
type reader struct {
	file   *os.File
	closed chan struct{}
	close  func()
	done   chan struct{}
	err    error // why step ended; to be read after done is closed
}

// startReader takes over file. It calls broke, which must not block, when step has failed but
// for Close.
func startReader(file *os.File, step func() error, broke func()) *reader {
	r := &reader{file: file, closed: make(chan struct{}), done: make(chan struct{})}
	r.close = sync.OnceFunc(func() { close(r.closed) })
	go func() {
		for r.err == nil {
			if err := step(); !errors.Is(err, errBurst) {
				r.err = err
				continue
			}
			r.pause()
		}
		close(r.done)
		if r.failed() != nil {
			broke()
		}
	}()
	return r
}

func (r *reader) pause() {
	burst := time.NewTimer(burstPause)
	defer burst.Stop()
	select {
	case <-burst.C:
	case <-r.closed:
	}
}

// failed returns why nothing is read any more; nil while all is well and after Close.
func (r *reader) failed() error {
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
func (r *reader) Close() error {
	r.close()
	err := r.file.Close()
	<-r.done
	return err
}
