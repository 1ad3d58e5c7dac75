package rpcclient

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryRefusalHasAMeaningAndARemedy(t *testing.T) {
	t.Parallel()
	cases := []struct {
		phase            phase
		code             int
		meaning, remedy  string
		tryAnotherMethod bool
	}{
		{phaseConnect, 1000, "closed", "login screen", false},
		{phaseConnect, 1003, "bad data", "report this", false},
		{phaseConnect, 1006, "busy", "automatic", false},
		{phaseConnect, 4000, "invalid client id", "vendor.client_id", false},
		{phaseConnect, 4001, "invalid origin", "vendor.rpc_origin", true},
		{phaseConnect, 4002, "rate limited", "automatic", true},
		{phaseConnect, 4003, "token revoked", "restart the client", false},
		{phaseConnect, 4004, "invalid version", "update the agent", true},
		{phaseConnect, 4005, "invalid encoding", "update the agent", true},
		{phaseCommand, 1000, "failed in the client", "automatic", false},
		{phaseCommand, 1003, "bad data", "report this", false},
		{phaseCommand, 4000, "fails validation", "catalogue check", false},
		{phaseCommand, 4002, "unknown command", "does not know certified devices", false},
		{phaseCommand, 4006, "not authorized", "another one is tried", true},
	}
	tested := make(map[phaseCode]bool)
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %d", c.phase, c.code), func(t *testing.T) {
			err := fmt.Errorf("device list: %w", &refusalError{Phase: c.phase, Code: c.code, Message: "their words"})
			require.ErrorContains(t, err, fmt.Sprintf("refused by the client: %s error %d (", c.phase, c.code))
			require.ErrorContains(t, err, c.meaning)
			require.ErrorContains(t, err, `"their words"`)
			require.Contains(t, remedyOf(reasonOf(err)), c.remedy)
			require.ErrorIs(t, err, &refusalError{})
			require.ErrorIs(t, err, &refusalError{Code: c.code})
			require.ErrorIs(t, err, &refusalError{Phase: c.phase, Code: c.code})
			require.NotErrorIs(t, err, &refusalError{Code: c.code + 10000})
			require.NotErrorIs(t, err, errLost)
			if c.phase == phaseConnect {
				require.NotErrorIs(t, err, &refusalError{Phase: phaseCommand})
			}
			require.Equal(t, c.tryAnotherMethod, isPermanent(err) || leavesOtherTransports(err))
		})
		tested[phaseCode{c.phase, c.code}] = true
	}
	for k := range meanings {
		require.True(t, tested[k], "%v has no test", k)
	}
}

func TestUnknownRefusalsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	err := &refusalError{Phase: phaseCommand, Code: 5000}
	require.Equal(t, "refused by the client: command error 5000", err.Error())
	require.Empty(t, remedyOf(reasonOf(err)))
	require.False(t, leavesOtherTransports(err))
}

func TestConditionsThatAreNotRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err      error
		remedy   string
		givesWay bool
	}{
		{errNoClient, "start the client", true},
		{errNoAnswer, "may hang or be busy", true},
		{errNotRPC, "", true},
		{errLost, "", false},
		{errors.New("anything"), "", true},
	} {
		err := fmt.Errorf("websocket to x: %w", c.err)
		require.Contains(t, remedyOf(reasonOf(err)), c.remedy)
		require.Equal(t, c.remedy == "", remedyOf(reasonOf(err)) == "")
		require.Equal(t, c.givesWay, leavesOtherTransports(err), c.err)
	}
}

// TestMessagesOfTheServerCannotForgeLines: they are shown in logs and terminals.
func TestMessagesOfTheServerCannotForgeLines(t *testing.T) {
	t.Parallel()
	err := &refusalError{Phase: phaseConnect, Code: 4000, Message: "x\n2024-01-01 level=INFO msg=forged\x1b[31m"}
	require.False(t, strings.ContainsAny(err.Error(), "\n\x1b"))
}

// A remedy that is none is left out, in both forms of the log, and so is a reason.
func TestLogWithoutEmptyRemedy(t *testing.T) {
	t.Parallel()
	for _, handler := range []func(io.Writer) slog.Handler{
		func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var out strings.Builder
		log := slog.New(handler(&out))
		log.Info("degraded", nonEmpty("reason", ""), nonEmpty("remedy", ""))
		log.Info("degraded", nonEmpty("reason", "it is down"), nonEmpty("remedy", "start it"))
		require.Equal(t, 1, strings.Count(out.String(), "remedy"), out.String())
		require.Contains(t, out.String(), "start it")
		require.Equal(t, 1, strings.Count(out.String(), "reason"), out.String())
	}
}
