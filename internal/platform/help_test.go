package platform

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// deadline returns a context that ends long after what it is waited for has happened.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// noLeak checks for goroutines that are left over after all cleaning up. To be called first.
func noLeak(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}
