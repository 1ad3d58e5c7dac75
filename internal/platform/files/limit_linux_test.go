package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/platform/platformtest"
)

// TestFilesWithoutInotify: where no inotify instance is left, files are read all the same, every half minute; what ran out is said. They are
// watched as soon as there is one.
func TestFilesWithoutInotify(t *testing.T) {
	platformtest.InUserNamespace(t, func() {
		platformtest.SetUserLimit(t, "max_inotify_instances", 0)
		endpoints, states := filepath.Join(t.TempDir(), "e.yaml"), filepath.Join(ownFolder(t), "states.json")
		write(t, endpoints, "v1")
		require.NoError(t, os.WriteFile(states, []byte("[]"), 0o600))
		source, err := NewEndpoints(endpoints)
		require.NoError(t, err)
		file, err := NewStateFile(states)
		require.NoError(t, err)
		defer file.Close()
		defer source.Close()

		require.Equal(t, []string{"v1"}, fileIDs(t, source))
		_, err = file.Read(t.Context())
		require.NoError(t, err)
		notes := append(source.(platform.Annotator).Notes(), file.Notes()...)
		require.Len(t, notes, 2)
		for _, note := range notes {
			require.Equal(t, health.FileUnwatched, note.Code)
			require.Equal(t, health.WatchLimit, note.Because[0].Code)
			require.Contains(t, health.English.Phrase(note), "cannot be watched, so it is read every 30s: "+
				"this user already has as many file watches as fs.inotify.max_user_instances allows")
			require.Contains(t, health.English.Remedy(note), "raise fs.inotify.max_user_instances")
		}
		healthtest.Raised(t, notes...)
		require.Error(t, source.(*fileSource).watchError())

		platformtest.SetUserLimit(t, "max_inotify_instances", 10)
		require.Equal(t, []string{"v1"}, fileIDs(t, source))
		require.Empty(t, source.(platform.Annotator).Notes())
		write(t, endpoints, "v2")
		becomes(t, source, "v2")
	})
}
