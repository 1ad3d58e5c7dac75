package hid

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab/tabletest"
)

func table() tabletest.Table[state, outcome] {
	words := func(then []consequence) string {
		var all []string
		for _, c := range then {
			all = append(all, string(c))
		}
		return strings.Join(all, "; ")
	}
	all := tabletest.Table[state, outcome]{Start: unknown, After: func(s state, on outcome) (state, string) {
		t := next(s, on)
		return t.to, words(t.then)
	}}
	for _, t := range transitions {
		all.Lines = append(all.Lines, tabletest.Line[state, outcome]{On: t.on, From: t.from, To: t.to, Then: words(t.then)})
	}
	return all
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	states := tabletest.Declared[state](t, "state")
	table().Walk(t, states, tabletest.Declared[outcome](t, "outcome"))
	for _, s := range states {
		require.Equal(t, unknown, next(s, onForgotten).to, "what was not seen is unknown")
	}
}

func TestEveryConsequenceFollowsFromSomething(t *testing.T) {
	for _, c := range tabletest.Declared[consequence](t, "consequence") {
		require.True(t, slices.ContainsFunc(transitions, func(tr transition) bool { return slices.Contains(tr.then, c) }), c)
	}
}

func TestTheDocumentsShowTheTable(t *testing.T) { table().Shown(t, "and then") }
