package fakeserver

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestChangedTellsOfEachChange(t *testing.T) {
	for name, change := range map[string]func(*Server){
		"payload": func(srv *Server) { mustPost(t, srv, msg("n", mic)) },
		"fault":   func(srv *Server) { setFault(t, srv, "squatter") },
		"stop":    (*Server).Stop,
		"close":   func(srv *Server) { require.NoError(t, srv.Close()) },
	} {
		srv := launch(t, Options{})
		changed := srv.Changed()
		select {
		case <-changed:
			require.Fail(t, "nothing has changed", name)
		default:
		}
		change(srv)
		select {
		case <-changed:
		case <-time.After(patience):
			require.Fail(t, "nobody was told", name)
		}
	}
}

func TestLinksAndRunning(t *testing.T) {
	srv := launch(t, Options{})
	require.True(t, srv.Running())
	require.Empty(t, srv.ConnectionsByTransport())
	connect(t, srv)
	require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Ready == 1 }))
	require.Equal(t, map[Transport]int{WebSocket: 1}, srv.ConnectionsByTransport())
	srv.Stop()
	require.False(t, srv.Running())
	require.Empty(t, srv.ConnectionsByTransport())
}

func TestAppsAreThoseWithAList(t *testing.T) {
	srv := launch(t, Options{})
	require.Empty(t, srv.ClientIDs())
	const other = "876543210987654321"
	for _, id := range []string{clientID, other, clientID} {
		_, err := do(t, newRequest(t, http.MethodPost, fmt.Sprintf("%s/rpc?v=1&client_id=%s", srv.URL(), id), msg("n", mic)))
		require.NoError(t, err)
	}
	require.Equal(t, []string{other, clientID}, srv.ClientIDs())
}
