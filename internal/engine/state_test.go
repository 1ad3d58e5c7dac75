package engine

import (
	"testing"

	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[presence, sighting, sequel]{Lines: transitions, Start: gone}

func TestEverySightingIsDecidedInEveryState(t *testing.T) {
	table.Walk(t, tabletest.Declared[presence](t, "presence"), tabletest.Declared[sighting](t, "sighting"))
}

func TestTheDocumentsShowTheTableOfIncarnations(t *testing.T) { table.Shown(t, "and then") }
