package hid

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
	"sidetone/internal/transition"
)

var table = tabletest.Table[state, outcome, []consequence]{Lines: transitions, Start: unknown}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	states := tabletest.Declared[state](t, "state")
	table.Walk(t, states, tabletest.Declared[outcome](t, "outcome"))
	for _, s := range states {
		require.Equal(t, unknown, transitions.After(s, onForgotten).To, "what was not seen is unknown")
	}
}

func TestEveryConsequenceFollowsFromSomething(t *testing.T) {
	for _, c := range tabletest.Declared[consequence](t, "consequence") {
		require.True(t, slices.ContainsFunc(transitions, func(l transition.Line[state, outcome, []consequence]) bool {
			return slices.Contains(l.Then, c)
		}), c)
	}
}

func TestTheDocumentsShowTheTable(t *testing.T) { table.Shown(t, "and then") }
