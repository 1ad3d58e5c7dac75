package app

import (
	"testing"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[handoverState, outcome, consequence]{
	Lines: transitions, Start: preparing, End: []handoverState{replaced, ended},
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	table.Walk(t, tabletest.Declared[handoverState](t, "handoverState"), tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) { table.Shown(t, "and then") }
