package app

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestStoppedBeforeItGoesOn: an agent that is to go on in place of one that does not answer ends when it is told to, by whatever way.
func TestStoppedBeforeItGoesOn(t *testing.T) {
	folder := t.TempDir()
	o := Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler)}
	silent, err := New(o)
	require.NoError(t, err)
	defer silent.close()
	o.Replace = true
	a, err := New(o)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(context.Background()) }()
	testlab.Eventually(t, "it asks", func() bool { return a.handover.now() == asking })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	a.Stop(ctx, true)
	require.NoError(t, ctx.Err(), "it is told that there is nothing to tell clients")
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-ctx.Done():
		require.FailNow(t, "it does not end")
	}
}
