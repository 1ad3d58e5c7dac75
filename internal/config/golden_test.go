package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml"
)

// Every file in testdata is broken in its own way; beside it is what the user reads then.
func TestBrokenCatalogues(t *testing.T) {
	golden(t, "testdata/catalogue", func(file string, data []byte) []strictyaml.Problem {
		cat, problems := DecodeCatalogue(file, data)
		require.Nil(t, cat)
		return problems
	})
}

func TestBrokenConfigs(t *testing.T) {
	golden(t, "testdata/config", func(file string, data []byte) []strictyaml.Problem {
		l := newLoader()
		l.decode(file, data)
		if len(l.problems) == 0 {
			l.check()
		}
		return l.problems
	})
}

func golden(t *testing.T, dir string, read func(file string, data []byte) []strictyaml.Problem) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var got strings.Builder
			for _, p := range read(name, data) {
				got.WriteString(p.String() + "\n")
			}
			require.NotEmpty(t, got.String())
			want := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(want, []byte(got.String()), 0o644))
			}
			expected, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(expected), got.String())
		})
	}
}
