package control

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHandover: what was handed over to a connection is given back with its end, and nothing else is answered in between.
func TestHandover(t *testing.T) {
	s := serve(t, func(l *limits) { l.request, l.idle = 50*time.Millisecond, 50*time.Millisecond })
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
	<-two.conn.Done() // it holds nothing, and was idle for long
	require.Zero(t, s.released())
	require.NoError(t, one.HandedOver(t.Context()))
	require.NoError(t, one.Close())
	require.Eventually(t, func() bool { return s.released() == 1 }, 20*time.Second, time.Millisecond)
	require.ErrorIs(t, c.HandoverConn().HandedOver(t.Context()), ErrConflict)
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
