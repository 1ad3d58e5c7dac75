package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/health"
)

// TestNewConditions: what comes up is said once, and when it is over; that time passes is nothing new.
func TestNewConditions(t *testing.T) {
	t.Parallel()
	slow := func(age string) []control.Condition {
		return control.ConditionsOf([]health.Condition{
			{Code: health.ClientSlow, Severity: health.Problem, Subject: "Discord", Args: health.Args{"age": age}},
		})
	}
	require.Equal(t, []string{"problem: Discord hangs, and may show an older state: no answer for 5 s."}, words{Texts: health.English}.newConditions(nil, slow("5s")))
	require.Empty(t, words{Texts: health.English}.newConditions(slow("5s"), slow("6s")))
	require.Equal(t, []string{"over: Discord hangs, and may show an older state: no answer for 6 s."}, words{Texts: health.English}.newConditions(slow("6s"), nil))
}
