package app

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/engine"
)

// TestHistoryOfClientsWithoutEnd: a recording that somebody else has made may name any number of clients, or none by its name.
func TestHistoryOfClientsWithoutEnd(t *testing.T) {
	set, err := bareSettings(t).Engine()
	require.NoError(t, err)
	player := engine.NewPlayer(set, false)
	h := NewHistory(player)
	play := func(r engine.Record) {
		require.NoError(t, player.Play(r))
		h.Played(r)
	}
	play(engine.Record{Header: &engine.Header{Version: engine.RecordingVersion}})
	for n := range 3 * maxClients {
		play(engine.Record{T: engine.Span(time.Duration(n) * time.Second), Client: &engine.Client{Event: "ready", To: strconv.Itoa(n)}})
	}
	play(engine.Record{T: engine.Span(time.Hour), Client: &engine.Client{Event: "ready"}})
	require.Len(t, h.clients, maxClients)
	require.Equal(t, "?", h.clients[maxClients-1].Name)
}
