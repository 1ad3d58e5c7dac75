package main

import (
	"bytes"
	"context"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestDemo runs the demo, on PulseAudio and, where the search path has none, on an endpoint file.
func TestDemo(t *testing.T) {
	stages := map[string]struct{ path, sound, talk string }{
		"pulseaudio":    {"", "a private PulseAudio", ""},
		"endpoint file": {t.TempDir(), "an endpoint file", "no PulseAudio here"},
	}
	for name, c := range stages {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), ipctest.Kept)
			if c.path == "" && runtime.GOOS == "windows" {
				t.Skip("there is no PulseAudio")
			}
			if c.path != "" {
				t.Setenv("PATH", c.path)
			}
			var out, talk bytes.Buffer
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			err := demo(ctx, &out, &talk)
			require.NoError(t, err, "%s\n%s", out.String(), talk.String())
			require.Contains(t, out.String(), "sound: "+c.sound)
			require.Equal(t, c.talk == "", talk.Len() == 0, talk.String())
			require.Contains(t, talk.String(), c.talk)
			var steps []string
			for _, m := range regexp.MustCompile(`(?m)^([1-9])\. `).FindAllStringSubmatch(out.String(), -1) {
				steps = append(steps, m[1])
			}
			require.Equal(t, "1 2 3 4 5 6 7 8", strings.Join(steps, " "), out.String())
			require.Contains(t, out.String(), "Every step arrived.")
		})
	}
}
