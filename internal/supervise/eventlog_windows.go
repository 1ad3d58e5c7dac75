package supervise

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"golang.org/x/sys/windows/svc/eventlog"
)

// repeatAfter is when a line that was logged before is logged again: a lasting failure is retried every minute, for days.
const repeatAfter = time.Hour

// EventLog returns a handler that writes each line to Windows' event log, the same line at most once an hour.
func EventLog(to *eventlog.Log) slog.Handler { return newEvents(to) }

func newEvents(to writer) *events {
	e := &events{to: to, written: make(map[string]time.Time)}
	e.Handler = slog.NewTextHandler(&e.line, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	return e
}

// writer is what events uses of an eventlog.Log.
type writer interface {
	Info(number uint32, text string) error
	Warning(number uint32, text string) error
	Error(number uint32, text string) error
}

type events struct {
	slog.Handler
	to      writer
	mu      sync.Mutex
	line    bytes.Buffer
	written map[string]time.Time // when each line of the last hour was written
}

// Event ids. Windows shows only the text of sources that were registered by eventlog.InstallAsEventCreate.
const (
	eventInfo    = 1
	eventWarning = 2
	eventError   = 3
)

func (e *events) Handle(ctx context.Context, r slog.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.line.Reset()
	if err := e.Handler.Handle(ctx, r); err != nil {
		return err
	}
	maps.DeleteFunc(e.written, func(_ string, at time.Time) bool { return r.Time.Sub(at) >= repeatAfter })
	line := e.line.String()
	if _, was := e.written[line]; was {
		return nil
	}
	e.written[line] = r.Time
	switch {
	case r.Level >= slog.LevelError:
		return e.to.Error(eventError, line)
	case r.Level >= slog.LevelWarn:
		return e.to.Warning(eventWarning, line)
	default:
		return e.to.Info(eventInfo, line)
	}
}

// withoutTime removes time and level, which an event has anyway.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) && a.Value.Kind() != slog.KindGroup {
		return slog.Attr{}
	}
	return a
}
