package world

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"

	"sidetone/internal/asynclog"
)

// logSink is what takes the agent's log: a terminal, a pipe or a file. While it is stuck it takes nothing, and whoever writes waits.
type logSink struct {
	mu    sync.Mutex
	stuck chan struct{} // closed when it goes on; nil: it is not stuck
}

// logger returns a log into the sink, as the agent makes it.
func (s *logSink) logger() *slog.Logger {
	return slog.New(asynclog.NewHandler(s, func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }))
}

func (s *logSink) Write(line []byte) (int, error) {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	return len(line), nil
}

// turn makes the sink stick, or go on.
func (s *logSink) turn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck == nil {
		s.stuck = make(chan struct{})
		return
	}
	s.free()
}

// free lets the sink go on. mu is held, or nobody else is left.
func (s *logSink) free() {
	if s.stuck != nil {
		close(s.stuck)
		s.stuck = nil
	}
}

// sticks has the log stick in some scenarios, often for good. stream is the number of the random source.
func sticks(s *scenario, stream uint64) {
	g := &generator{rand.New(rand.NewPCG(s.Seed, stream))}
	if !g.one(4) {
		return
	}
	for range 1 + g.IntN(3) {
		s.Steps = slices.Insert(s.Steps, g.IntN(len(s.Steps)+1), scenarioStep{Do: doLog, After: g.IntN(500)})
	}
}
