package app

import (
	"testing"

	"sidetone/internal/testlab/tabletest"
)

func table() tabletest.Table[life, outcome] {
	all := tabletest.Table[life, outcome]{Start: preparing, End: ended, After: func(s life, on outcome) (life, string) {
		t := transitionFor(s, on)
		return t.to, string(t.then)
	}}
	for _, t := range transitions {
		all.Lines = append(all.Lines, tabletest.Line[life, outcome]{On: t.on, From: t.from, To: t.to, Then: string(t.then)})
	}
	return all
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	table().Walk(t, tabletest.Declared[life](t, "life"), tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) { table().Shown(t, "and then") }
