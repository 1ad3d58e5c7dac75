package link

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
)

func TestEveryRefusalHasAMeaningAndARemedy(t *testing.T) {
	t.Parallel()
	cases := []struct {
		phase           Phase
		code            int
		meaning, remedy string
		permanent       bool
	}{
		{PhaseConnect, 1000, "closed", "login screen", false},
		{PhaseConnect, 1003, "bad data", "report this", false},
		{PhaseConnect, 1006, "busy", "automatic", false},
		{PhaseConnect, 4000, "invalid client id", "vendor.client_id", false},
		{PhaseConnect, 4001, "invalid origin", "vendor.rpc_origin", true},
		{PhaseConnect, 4002, "rate limited", "automatic", false},
		{PhaseConnect, 4003, "token revoked", "restart the client", false},
		{PhaseConnect, 4004, "invalid version", "update the agent", true},
		{PhaseConnect, 4005, "invalid encoding", "update the agent", true},
		{PhaseCommand, 1000, "failed in the client", "automatic", false},
		{PhaseCommand, 1003, "bad data", "report this", false},
		{PhaseCommand, 4000, "fails validation", "catalogue check", false},
		{PhaseCommand, 4002, "unknown command", "does not know certified devices", false},
		{PhaseCommand, 4006, "not authorized", "another one is tried", true},
	}
	tested := make(map[phaseCode]bool)
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s %d", c.phase, c.code), func(t *testing.T) {
			refusal := &Refusal{Phase: c.phase, Code: c.code, Message: "their words"}
			err := fmt.Errorf("device list: %w", refusal)
			require.ErrorContains(t, err, fmt.Sprintf("refused by the client: %s error %d (", c.phase, c.code))
			require.ErrorContains(t, err, c.meaning)
			require.ErrorContains(t, err, `"their words"`)
			require.Contains(t, health.English.Advice(health.Condition{Code: refusal.Health()}), c.remedy)
			require.ErrorIs(t, err, &Refusal{})
			require.ErrorIs(t, err, &Refusal{Code: c.code})
			require.ErrorIs(t, err, &Refusal{Phase: c.phase, Code: c.code})
			require.NotErrorIs(t, err, &Refusal{Code: c.code + 10000})
			require.NotErrorIs(t, err, ErrLost)
			if c.phase == PhaseConnect {
				require.NotErrorIs(t, err, &Refusal{Phase: PhaseCommand})
			}
			require.Equal(t, c.permanent, refusal.IsPermanent())
		})
		tested[phaseCode{c.phase, c.code}] = true
	}
	for k := range meanings {
		require.True(t, tested[k], "%v has no test", k)
	}
}

func TestUnknownRefusalsAreToldAsTheyAre(t *testing.T) {
	t.Parallel()
	err := &Refusal{Phase: PhaseCommand, Code: 5000}
	require.Equal(t, "refused by the client: command error 5000", err.Error())
	require.Empty(t, health.English.Advice(health.Condition{Code: err.Health()}))
	require.False(t, err.IsPermanent())
}

// TestMessagesOfTheServerCannotForgeLines: they are shown in logs and terminals.
func TestMessagesOfTheServerCannotForgeLines(t *testing.T) {
	t.Parallel()
	err := &Refusal{Phase: PhaseConnect, Code: 4000, Message: "x\n2024-01-01 level=INFO msg=forged\x1b[31m"}
	require.False(t, strings.ContainsAny(err.Error(), "\n\x1b"))
}
