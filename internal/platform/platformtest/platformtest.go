// Package platformtest has helpers for the tests of several subjects.
package platformtest

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
)

// Quiet returns a logger that discards everything.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Deadline returns a context that ends long after any expected event.
func Deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// NoLeak checks for leaked goroutines after all cleanups. Call it first.
func NoLeak(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before, ipctest.Kept) })
}

// AwaitSignal waits for a notification.
func AwaitSignal(t *testing.T, b signal.Signal) {
	t.Helper()
	select {
	case <-b:
	case <-Deadline(t).Done():
		t.Fatal("nothing was heard")
	}
}

// MustList returns what a source lists now.
func MustList(t *testing.T, source platform.Source) []devices.Endpoint {
	t.Helper()
	got, err := List(t, source)
	require.NoError(t, err)
	return got
}

// List reads a source, and returns the endpoints.
func List(t *testing.T, source platform.Source) ([]devices.Endpoint, error) {
	t.Helper()
	r, err := source.Read(t.Context())
	return r.Endpoints, err
}

// Notes reads a source, and returns what it notes, whether it could be read or not.
func Notes(t *testing.T, source platform.Source) []health.Condition {
	t.Helper()
	r, _ := source.Read(t.Context())
	return r.Notes
}

// LeaveStale leaves a stale socket at path.
func LeaveStale(t *testing.T, path string) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	listener.SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
}
