package rpcclient

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
)

func table() tabletest.Table[State, outcome] {
	all := tabletest.Table[State, outcome]{Start: Searching, After: func(s State, on outcome) (State, string) {
		t := transitionFor(s, on)
		return t.to, string(t.retry)
	}}
	for _, t := range transitions {
		all.Lines = append(all.Lines, tabletest.Line[State, outcome]{On: t.on, From: t.from, To: t.to, Then: string(t.retry)})
	}
	return all
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	t.Parallel()
	var states []State
	for _, s := range tabletest.Declared[State](t, "State") {
		if s != Stopped { // that is one of the whole
			states = append(states, s)
			require.Equal(t, s != Searching && s != occupied, slices.Contains(sessionStates, s), "%s is a session", s)
		}
	}
	table().Walk(t, states, tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) {
	t.Parallel()
	table().Shown(t, "next try")
}
