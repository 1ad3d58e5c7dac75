// Package strictyamltest has helpers for tests that decode files with strictyaml.
package strictyamltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml"
)

// RequireInside checks that the position of every problem is inside the text.
func RequireInside(t testing.TB, data []byte, problems []strictyaml.Problem) {
	t.Helper()
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\uFEFF"))
	lines := strings.Split(text, "\n")
	for _, p := range problems {
		require.LessOrEqual(t, 1, p.Line, p)
		require.LessOrEqual(t, p.Line, len(lines), p)
		require.LessOrEqual(t, 1, p.Column, p)
		require.LessOrEqual(t, p.Column, len([]rune(lines[p.Line-1]))+1, p)
		require.NotContains(t, p.String(), "\n")
	}
}

// Texts returns the problems' strings.
func Texts(problems []strictyaml.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

// Golden reads every file of a folder of broken files and compares its problems with the golden file beside it.
func Golden(t *testing.T, dir string, update bool, read func(file string, data []byte) []strictyaml.Problem) {
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
			if update {
				require.NoError(t, os.WriteFile(want, []byte(got.String()), 0o644))
			}
			expected, err := os.ReadFile(want)
			require.NoError(t, err)
			require.Equal(t, string(expected), got.String())
		})
	}
}
