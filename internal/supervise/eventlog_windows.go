package supervise

import (
	"bytes"
	"context"
	"log/slog"
	"sync"

	"golang.org/x/sys/windows/svc/eventlog"
)

// EventLog has each line in Windows' event log, and nowhere else.
func EventLog(to *eventlog.Log) slog.Handler {
	e := &events{to: to}
	e.Handler = slog.NewTextHandler(&e.line, &slog.HandlerOptions{ReplaceAttr: withoutTime})
	return e
}

type events struct {
	slog.Handler
	to   *eventlog.Log
	mu   sync.Mutex
	line bytes.Buffer
}

// The numbers of events. Windows shows the text alone of sources that it knows by eventlog.InstallAsEventCreate.
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
	switch {
	case r.Level >= slog.LevelError:
		return e.to.Error(eventError, e.line.String())
	case r.Level >= slog.LevelWarn:
		return e.to.Warning(eventWarning, e.line.String())
	default:
		return e.to.Info(eventInfo, e.line.String())
	}
}

// withoutTime leaves out what an event has by itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) && a.Value.Kind() != slog.KindGroup {
		return slog.Attr{}
	}
	return a
}
