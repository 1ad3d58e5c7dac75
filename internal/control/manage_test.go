package control

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestManage(t *testing.T) {
	s := serve(t, nil)
	require.NoError(t, s.client().Stop(t.Context()))
	require.NoError(t, s.client().StopEmpty(t.Context()))
	require.NoError(t, s.client().StopForUpdate(t.Context()))
	require.NoError(t, s.client().Upgrade(t.Context()))
	for _, call := range []string{"stop ", "stop empty", "stop unmuted", "upgrade"} {
		require.Equal(t, 1, s.backend.calls[call], call)
	}
	answer, _ := s.ask(http.MethodPost, "/v1/stop?list=all", "")
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.NoError(t, s.client().SetLogLevel(t.Context(), "debug"))
	require.Equal(t, 1, s.backend.calls["level debug"])
	s.backend.broken = errors.New("want one of these")
	require.ErrorContains(t, s.client().SetLogLevel(t.Context(), "loud"), "want one of these")
	s.backend.broken = &Refusal{Kind: ErrConflict, Message: "by policy"}
	require.ErrorIs(t, s.client().SetLogLevel(t.Context(), "debug"), ErrConflict)
	for body, says := range map[string]string{`{}`: "$.level: want 1 to 64 characters, not 0", `[]`: "want an object", `{"level":1}`: "$.level: want text, found number"} {
		answer, text := s.ask(http.MethodPost, "/v1/log-level", body)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode)
		require.Contains(t, text, says)
	}
}
