package files

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform/platformtest"
)

// TestFilesWithoutInotify: where no inotify instance is left, a file is read all the same, every half minute; what ran out is said. It is
// watched as soon as there is one.
func TestFilesWithoutInotify(t *testing.T) {
	platformtest.InUserNamespace(t, func() {
		platformtest.SetUserLimit(t, "max_inotify_instances", 0)
		endpoints := filepath.Join(t.TempDir(), "e.yaml")
		write(t, endpoints, "v1")
		source, err := NewEndpoints(endpoints)
		require.NoError(t, err)
		defer source.Close()

		require.Equal(t, []string{"v1"}, fileIDs(t, source))
		notes := platformtest.Notes(t, source)
		require.Len(t, notes, 1)
		require.Equal(t, health.FileUnwatched, notes[0].Code)
		require.Equal(t, health.WatchLimit, notes[0].Because[0].Code)
		require.Contains(t, health.English.Phrase(notes[0]), "cannot be watched, so it is read every 30s: "+
			"this user already has as many file watches as fs.inotify.max_user_instances allows")
		require.Contains(t, health.English.Remedy(notes[0]), "raise fs.inotify.max_user_instances")
		healthtest.Raised(t, notes...)
		require.Error(t, source.(*fileSource).watchError())

		platformtest.SetUserLimit(t, "max_inotify_instances", 10)
		require.Equal(t, []string{"v1"}, fileIDs(t, source))
		require.Empty(t, platformtest.Notes(t, source))
		write(t, endpoints, "v2")
		becomes(t, source, "v2")
	})
}
