package app

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// tailBytes is how much of the log is kept for the bundle: some hundred changes.
const tailBytes = 128 << 10

// logTail keeps the last lines of a log.
type logTail struct {
	mu    sync.Mutex
	lines []string
	size  int // of the lines, in bytes
}

// attach returns a log that writes to log and into the tail.
func (t *logTail) attach(log *slog.Logger, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewMultiHandler(log.Handler(), slog.NewTextHandler(t, &slog.HandlerOptions{Level: level})))
}

// Write takes one line.
func (t *logTail) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines, t.size = append(t.lines, string(line)), t.size+len(line)
	drop := 0
	for ; t.size > tailBytes; drop++ {
		t.size -= len(t.lines[drop])
	}
	t.lines = slices.Delete(t.lines, 0, drop)
	return len(line), nil
}

func (t *logTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
