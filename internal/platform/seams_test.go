package platform_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table of docs/architecture.md that says in which file each subject meets each system names files that there are.
func TestSeamsAreWhereTheDocsShowThem(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| subject | what a system has to provide |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	subject, file := regexp.MustCompile("^\\| `(\\w+)`"), regexp.MustCompile("`([\\w*]+\\.go)`")
	seen := map[string]bool{}
	for line := range strings.Lines(table) {
		of := subject.FindStringSubmatch(line)
		if of == nil {
			continue
		}
		seen[of[1]] = true
		for _, name := range file.FindAllStringSubmatch(line, -1) {
			files, err := filepath.Glob(filepath.Join(of[1], name[1]))
			require.NoError(t, err)
			require.NotEmpty(t, files, "%s has no %s", of[1], name[1])
		}
	}
	others, err := filepath.Glob("*/*_other.go")
	require.NoError(t, err)
	for _, path := range others {
		require.True(t, seen[filepath.Dir(path)], "%s is in no row", path)
	}
}
