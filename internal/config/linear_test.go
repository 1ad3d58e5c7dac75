package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALongListIsReadOnce, not once for each of its elements.
func TestALongListIsReadOnce(t *testing.T) {
	list := make([]string, 1_000_000)
	for i := range list {
		list[i] = fmt.Sprint("/", i)
	}
	list[len(list)-1] = "/0"
	faults := checkList("sources.files", list) // would take hours if each element were compared with all before it
	require.Len(t, faults, 1)
	require.Equal(t, "sources.files[999999]", faults[0].Path)
}

// BenchmarkLength is the time for each byte of a settings file, which must not grow with the file.
func BenchmarkLength(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000, 60000} {
		words := make([]string, n)
		for i := range words {
			words[i] = fmt.Sprintf("/x/%d.json", i)
		}
		text := "sources: {files: [" + strings.Join(words, ", ") + "]}\n"
		file := filepath.Join(b.TempDir(), "long.yaml")
		require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Load(Options{Explicit: file})
			}
		})
	}
}
