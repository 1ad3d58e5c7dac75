package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

// stuckSource is one whose driver does not answer until it is freed, and then once nobody wants to know any more.
type stuckSource struct{ listing, free chan struct{} }

func (s stuckSource) Name() string { return "stuck" }

func (s stuckSource) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (s stuckSource) Read(ctx context.Context) (platform.Reading, error) {
	close(s.listing)
	<-s.free
	<-ctx.Done()
	return platform.Reading{}, context.Canceled
}

func (s stuckSource) Close() error { return nil }

// stuckLog is one that takes no more from a certain line on.
type stuckLog struct {
	slog.Handler
	at      string        // how that begins
	reached func()        // is called then
	free    chan struct{} // closed: it takes lines again
}

func (l stuckLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, l.at) {
		l.reached()
		<-l.free
	}
	return l.Handler.Handle(ctx, r)
}

// TestEndThatHangs: clients have been told, and the process does not wait for the rest for ever, with locks that another agent needs.
func TestEndThatHangs(t *testing.T) {
	defer func(d time.Duration) { shutdownTimeout = d }(shutdownTimeout)
	shutdownTimeout = 50 * time.Millisecond
	overdue := make(chan error, 1)
	a := newApp(t, Options{Settings: bareSettings(t), Overdue: func(err error) { overdue <- err }})
	stuck := stuckSource{make(chan struct{}), make(chan struct{})}
	a.log = slog.New(stuckLog{a.log.Handler(), "what is left to do hangs", func() {}, stuck.free})
	a.sources, a.kicks = append(a.sources, stuck), append(a.kicks, signal.New())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(context.Background())
	}()
	<-stuck.listing
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.Stop(ctx, control.ListEmpty)
	select {
	case err := <-overdue:
		require.NoError(t, err)
	case <-time.After(patience):
		require.Fail(t, "its process is never ended")
	}
	close(stuck.free)
	<-ended
}

// TestAgentThatHangsBeforeItIsToldToStop: whoever tells clients may be what hangs, and never gets as far as that.
func TestAgentThatHangsBeforeItIsToldToStop(t *testing.T) {
	defer func(d time.Duration) { shutdownTimeout = d }(shutdownTimeout)
	shutdownTimeout = 50 * time.Millisecond
	overdue := make(chan error, 1)
	hangs, free := make(chan struct{}), make(chan struct{})
	log := stuckLog{slog.NewTextHandler(io.Discard, nil), "no client to report to", sync.OnceFunc(func() { close(hangs) }), free}
	a := newApp(t, Options{Settings: bareSettings(t), Overdue: func(err error) { overdue <- err }, Log: slog.New(log)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx)
	}()
	<-hangs
	cancel()
	select {
	case err := <-overdue:
		require.NoError(t, err)
	case <-time.After(patience):
		assert.Fail(t, "its process is never ended")
	}
	close(free)
	<-ended
}

// TestReasonOfAnEndThatHangs is said, as it is where Run returns.
func TestReasonOfAnEndThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		overdue := make(chan error, 1)
		a := &App{opts: Options{Overdue: func(err error) { overdue <- err }}, log: slog.New(slog.NewTextHandler(&log, nil))}
		a.failed.Store(new(errors.New("another agent runs")))
		a.exitIfHanging()
		require.ErrorContains(t, <-overdue, "another agent runs")
		synctest.Wait()
		require.Contains(t, log.String(), `reason="another agent runs"`)
	})
}
