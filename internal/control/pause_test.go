package control

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPause(t *testing.T) {
	s := serve(t, nil)
	for body, want := range map[string]PauseRequest{
		`{}`:                  {},
		`{"for_ms": 3600000}`: {ForMS: 3600000},
		`{"new": 1}`:          {},
	} {
		answer, text := s.ask(http.MethodPost, "/v1/pause", body)
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		require.Equal(t, want, s.backend.paused, body)
	}
	for body, says := range map[string]string{
		`[]`:                     "want an object",
		`{"for_ms": 0}`:          "$.for_ms: want at least 1",
		`{"for_ms": 2592000001}`: "$.for_ms: want a whole number from 0",
		`{"for": 5}`:             `$.for: did you mean \"for_ms\"`,
		`null`:                   "$: want an object, found null",
		`{"until_login": true}`:  "$.until_login is gone: give for_ms, or nothing and end the pause by /v1/resume",
	} {
		answer, text := s.ask(http.MethodPost, "/v1/pause", body)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, body)
		require.Contains(t, text, says)
	}

	p, err := s.client().Pause(t.Context(), PauseRequest{ForMS: 60000})
	require.NoError(t, err)
	require.Equal(t, at(5), p.Until)
	require.NoError(t, s.client().Resume(t.Context()))
	require.Equal(t, 1, s.backend.calls["resume"])
}
