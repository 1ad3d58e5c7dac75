package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml/strictyamltest"
)

// FuzzConfig: no file panics; every problem is in the file; settings without problems can be
// given back as flags.
func FuzzConfig(f *testing.F) {
	seeds, err := filepath.Glob("testdata/config/*.yaml")
	require.NoError(f, err)
	for _, path := range append(seeds, "../../examples/config.yaml") {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := gather(Options{})
		l.decode(LayerUser, "/f", data)
		if len(l.problems) == 0 {
			l.check()
		}
		strictyamltest.RequireInside(t, data, l.problems)
		if len(l.problems) > 0 {
			return
		}
		flags := make(map[string]string)
		for _, s := range l.settings() {
			flags[s.Path] = s.Value
		}
		// A flag cannot give a path with a comma, nor an empty value of a name.
		if strings.Contains(strings.Join(l.config.Sources.Files, ""), ",") {
			return
		}
		for _, path := range []string{"report.audio_id", "report.video_id"} {
			if flags[path] == "" {
				delete(flags, path)
			}
		}
		again, _, problems := Load(Options{Flags: flags})
		require.Empty(t, strictyamltest.Texts(problems))
		require.Equal(t, l.config, again)
	})
}
