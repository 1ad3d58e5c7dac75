// Package asynclog is a log that nobody who logs has to wait for: a terminal that was stopped, a pipe that nobody reads or a file system
// that hangs may block a write for ever.
package asynclog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// maxWaiting bounds the lines that wait to be written, in bytes: some hundred changes.
const maxWaiting = 128 << 10

// Handler is a slog.Handler whose Handle never waits. It formats a record at once, so that the record may change later, and leaves the
// line to its Writer.
type Handler struct {
	slog.Handler
	*Writer
}

// NewHandler returns a Handler that keeps its log in out. format returns what turns a record into one Write, which is one line.
func NewHandler(out io.Writer, format func(io.Writer) slog.Handler) *Handler {
	direct := format(out)
	w := newWriter(out, func(lines int) error {
		r := slog.NewRecord(time.Now(), slog.LevelWarn, fmt.Sprintf("%d log lines were dropped", lines), 0)
		r.AddAttrs(slog.String("reason", "what shows or keeps this log took none for a while"))
		return direct.Handle(context.Background(), r)
	})
	return &Handler{format(w), w}
}

// Writer writes lines in a goroutine of its own, which runs while there are any. If more wait than maxWaiting, it drops the oldest.
type Writer struct {
	out  io.Writer
	note func(dropped int) error // writes to out how many lines are missing

	mu      sync.Mutex
	waiting [][]byte
	size    int           // of what is waiting, in bytes
	dropped int           // lines of which out does not know yet
	idle    chan struct{} // closed when nothing is left to write; nil: nothing is
}

func newWriter(out io.Writer, note func(dropped int) error) *Writer {
	return &Writer{out: out, note: note}
}

// Write takes a line. It neither waits nor fails.
func (w *Writer) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting, w.size = append(w.waiting, bytes.Clone(line)), w.size+len(line)
	for w.size > maxWaiting {
		w.next()
		w.dropped++
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
		go w.writeAll()
	}
	return len(line), nil
}

// next takes the oldest line. mu is held.
func (w *Writer) next() (line []byte) {
	line, w.waiting = w.waiting[0], w.waiting[1:]
	w.size -= len(line)
	return line
}

// writeAll writes until nothing is left.
func (w *Writer) writeAll() {
	for {
		line, dropped, left := w.take()
		if !left {
			return
		}
		if dropped > 0 && w.note(dropped) == nil {
			w.drop(-dropped)
		}
		if _, err := w.out.Write(line); err != nil { // such as a disk that is full
			w.drop(1)
		}
	}
}

// take returns the next line, if any is left, and how many were dropped.
func (w *Writer) take() (line []byte, dropped int, left bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		idle := w.idle
		w.waiting, w.idle = nil, nil
		close(idle)
		return nil, 0, false
	}
	return w.next(), w.dropped, true
}

func (w *Writer) drop(lines int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += lines
}

// Flush returns true once everything is written, or false if that takes longer than patience. It is for the end of the process.
func (w *Writer) Flush(patience time.Duration) bool {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return true
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-idle:
		return true
	case <-late.C:
		return false
	}
}
