package catalogue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml"
	"sidetone/internal/strictyaml/strictyamltest"
)

// Every file in testdata is broken in its own way; beside it is what the user reads then.
func TestBrokenCatalogues(t *testing.T) {
	strictyamltest.Golden(t, "testdata/broken", *update, func(file string, data []byte) []strictyaml.Problem {
		cat, problems := Decode(file, data)
		require.Nil(t, cat)
		return problems
	})
}
