package world

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wallTime finds code that takes a time from the clock on the wall, or keeps one.
var wallTime = regexp.MustCompile(`\.Round\(0\)|\.UTC\(\)|\.Local\(\)|\.In\(time\.|\.Truncate\(|time\.Parse\(|time\.Date\(|time\.Unix\(\w*[a-z]|\.ModTime\(`)

// TestTheWallClockDecidesNothing: in a bubble nobody can set the clock, so the code that decides what is reported must have no times
// without the reading of the monotonic clock. They come only with a handover, which doReplace simulates, and with recordings.
func TestTheWallClockDecidesNothing(t *testing.T) {
	allowed := map[string]string{
		"engine/recorder.go": "recordings have times of their own clock, which begins at one of the wall clock",
		"engine/replay.go":   "likewise",
		"engine/pause.go":    "the log names the time at which a pause ends",
	}
	for _, dir := range []string{"engine", "hid", "devices", "rpcclient"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name := dir + "/" + filepath.Base(file)
			if strings.HasSuffix(file, "_test.go") || allowed[name] != "" {
				continue
			}
			require.Empty(t, wallTime.FindString(string(text)), "%s: a comparison with it fails when the clock is set", name)
		}
	}
}
