package app

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLocksAreNotTakenBackFromWhoHasEverything: the other agent has confirmed while this one was taking them. That one may need them again.
func TestLocksAreNotTakenBackFromWhoHasEverything(t *testing.T) {
	folder := t.TempDir()
	o := Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler)}
	a, err := New(o)
	require.NoError(t, err)
	t.Cleanup(a.close)
	a.releaseLocks()
	for _, s := range []handoverState{replaced, ended} {
		a.next.state = s
		back, err := a.reclaim(t.Context())
		require.NoError(t, err)
		require.False(t, back)
		require.Equal(t, s, a.next.now())
		other, err := New(o)
		require.NoError(t, err, "the locks are free")
		other.close()
	}
}
