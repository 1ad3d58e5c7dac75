package app

import (
	"testing"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[life, outcome, consequence]{Lines: transitions, Start: preparing, End: []life{replaced, ended}}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	table.Walk(t, tabletest.Declared[life](t, "life"), tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) { table.Shown(t, "and then") }
