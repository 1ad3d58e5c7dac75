package control

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab/ipctest"
)

// TestHandover: what was handed over to a connection is given back with its end, and nothing else is answered in between.
func TestHandover(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.request, l.idle = 50*time.Millisecond, 50*time.Millisecond }, func(t *testing.T, s *stand) {
		c := NewClient(s.dial)
		one, two := c.HandoverConn(), c.HandoverConn()
		defer two.Close()
		_, err := two.HandOver(t.Context(), HandoverRequest{Vendor: "other", ClientID: "1"})
		require.ErrorIs(t, err, ErrConflict)
		answer, err := one.HandOver(t.Context(), HandoverRequest{Vendor: "acme", ClientID: "1"})
		require.NoError(t, err)
		require.JSONEq(t, "[]", string(answer.Inputs))
		_, err = c.Status(t.Context())
		require.ErrorIs(t, err, ErrStopping)
		<-two.Done() // it holds nothing, and was idle for long
		require.Zero(t, s.released())
		require.NoError(t, one.HandedOver(t.Context()))
		require.NoError(t, one.Close())
		require.Eventually(t, func() bool { return s.released() == 1 }, 20*time.Second, time.Millisecond)
		require.ErrorIs(t, c.HandoverConn().HandedOver(t.Context()), ErrConflict)
	})
}

// TestServedAgain: an agent that has its socket back has another server, beside the connections of the one before. That one ends with the
// last of them, and no two connections hold what they have pushed under one name.
func TestServedAgain(t *testing.T) {
	first := serve(t, nil)
	mute := PushRequest{Owner: "suite", State: map[devices.Field]*bool{devices.HardwareMute: new(true)}}
	one := NewClient(first.dial).PushConn()
	_, err := one.Push(t.Context(), "headset", mute)
	require.NoError(t, err)

	second := newServer(first.backend, slog.New(slog.DiscardHandler), defaultLimits)
	path := ipctest.Path(t)
	l, err := ipctest.Listen(path)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- second.Serve(context.Background(), l) }()
	two := NewClient(func(ctx context.Context) (net.Conn, error) { return ipctest.Dial(ctx, path) }).PushConn()
	_, err = two.Push(t.Context(), "headset", mute)
	require.NoError(t, err)
	first.backend.mu.Lock()
	require.Len(t, first.backend.pushes, 2, "two holders")
	first.backend.mu.Unlock()
	require.NoError(t, l.Close())
	_, err = two.Push(t.Context(), "headset", mute)
	require.NoError(t, err, "it goes on")
	require.NoError(t, two.Close())
	require.NoError(t, <-ended)
	require.NoError(t, one.Close())
}

// released counts the connections that have ended what they held.
func (s *stand) released() (n int) {
	s.backend.mu.Lock()
	defer s.backend.mu.Unlock()
	for _, times := range s.backend.released {
		n += times
	}
	return n
}
