package linux

import (
	"io/fs"
	"log/slog"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform/platformtest"
)

// TestLimitsOfInotify: which one is reached is said, and what to do about it, in the error and by doctor.
func TestLimitsOfInotify(t *testing.T) {
	platformtest.InUserNamespace(t, func() {
		for user, system := range map[string]string{
			"max_inotify_instances": "fs.inotify.max_user_instances",
			"max_inotify_watches":   "fs.inotify.max_user_watches",
		} {
			platformtest.SetUserLimit(t, user, 0)
			_, err := watchNodes(t.TempDir(), nil, nil)
			require.ErrorContains(t, err, "this user already has as many file watches as "+system+" allows, which is ")
			require.ErrorContains(t, err, "raise "+system+": 'sudo sysctl "+system+"=")
			h := WatchHotplug("camera", "video4linux", t.TempDir(), nil, slog.New(slog.DiscardHandler), func() {})
			platformtest.SetUserLimit(t, user, 10)

			notes := h.Notes()
			require.Equal(t, health.AccessUnwatched, notes[len(notes)-1].Code)
			healthtest.Raised(t, notes...)
			said := notes[len(notes)-1]
			require.Equal(t, system, said.Because[0].Args["limit"])
			require.Contains(t, health.English.Remedy(said), "End programs of this user that watch files")
			require.NotContains(t, health.English.Phrase(said), "end programs", "what to do is said once")
			require.NoError(t, h.Close())
		}
	})
}

// TestLimitOfOpenFiles is another one, for which inotify has the same error.
func TestLimitOfOpenFiles(t *testing.T) {
	platformtest.InUserNamespace(t, func() {
		var before unix.Rlimit
		require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
		none := before
		none.Cur = 0
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &none))
		_, err := Inotify(0)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		require.ErrorIs(t, err, syscall.EMFILE)
		require.ErrorContains(t, err, "the limit of this process's open files is reached; raise it (ulimit -n)")
	})
}

func TestNoLimitOfInotify(t *testing.T) {
	require.NoError(t, InotifyLimit(nil))
	require.Equal(t, fs.ErrPermission, InotifyLimit(fs.ErrPermission))
	once := InotifyLimit(unix.ENOSPC)
	require.ErrorIs(t, once, unix.ENOSPC)
	require.Equal(t, once, InotifyLimit(once), "what is said is not said again")
}
