package rpcclient

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[State, outcome, retry]{Lines: transitions, Start: Searching}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	t.Parallel()
	var states []State
	for _, s := range tabletest.Declared[State](t, "State") {
		if s != Stopped { // that is one of the whole
			states = append(states, s)
			require.Equal(t, s != Searching && s != occupied, slices.Contains(sessionStates, s), "%s is a session", s)
		}
	}
	table.Walk(t, states, tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) {
	t.Parallel()
	table.Shown(t, "next try")
}
