package rpcclient

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/rpcclient/link"
)

func TestAnotherTransportIsTriedAfterSomeRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase link.Phase
		code  int
		want  bool
	}{
		{link.PhaseConnect, link.CodeClosed, false},
		{link.PhaseConnect, link.CodeInvalidOrigin, true},
		{link.PhaseConnect, link.CodeRateLimited, true},
		{link.PhaseConnect, link.CodeInvalidClientID, false},
		{link.PhaseCommand, link.CodeUnknownCommand, false},
		{link.PhaseCommand, link.CodeNotAuthorized, true},
		{link.PhaseCommand, 5000, false},
	} {
		err := fmt.Errorf("device list: %w", &link.Refusal{Phase: c.phase, Code: c.code})
		require.Equal(t, c.want, isPermanent(err) || leavesOtherTransports(err), err)
	}
}

func TestConditionsThatAreNotRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err      error
		remedy   string
		givesWay bool
	}{
		{link.ErrNoClient, "start the client", true},
		{link.ErrNoAnswer, "may hang or be busy", true},
		{link.ErrNotRPC, "", true},
		{link.ErrLost, "", false},
		{errors.New("anything"), "", true},
	} {
		err := fmt.Errorf("websocket to x: %w", c.err)
		require.Contains(t, remedyOf(reasonOf(err)), c.remedy)
		require.Equal(t, c.remedy == "", remedyOf(reasonOf(err)) == "")
		require.Equal(t, c.givesWay, leavesOtherTransports(err), c.err)
	}
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
