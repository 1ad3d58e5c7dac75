package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/wine"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
)

// openStates opens path as a state file that is closed, and whose goroutines have ended, at
// the end.
func openStates(t *testing.T, path string) *StateFile {
	t.Helper()
	platformtest.NoLeak(t)
	file, err := NewStateFile(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	return file
}

// says waits for an event after which the file says want.
func says(t *testing.T, file *StateFile, want string) StateContent {
	t.Helper()
	return untilStates(t, file, want, func(c StateContent, err error) bool { return err == nil && string(c.Data) == want })
}

func untilStates(t *testing.T, file *StateFile, what string, good func(StateContent, error) bool) StateContent {
	t.Helper()
	ctx := platformtest.Deadline(t)
	for {
		waitErr := file.Wait(ctx)
		got, err := file.Read(t.Context())
		require.NoError(t, waitErr, "no event led to %s; the last reading: %q, %v", what, got.Data, err)
		if good(got, err) {
			return got
		}
	}
}

func noStates(_ StateContent, err error) bool { return errors.Is(err, fs.ErrNotExist) }

func save(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestStateFileChangesAreNoticed(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"written in place": func(t *testing.T, path string) { save(t, path, "new") },
		"renamed into place": func(t *testing.T, path string) {
			save(t, path+".new", "new")
			require.NoError(t, os.Rename(path+".new", path))
		},
		"removed and made anew": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			save(t, path, "new")
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "suite", "states.json")
			file := openStates(t, path)
			_, err := file.Read(t.Context())
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.ErrorContains(t, err, path)
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			save(t, path, "old")
			says(t, file, "old")
			change(t, path)
			got := says(t, file, "new")
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.True(t, got.Written.Equal(info.ModTime()))

			if wine.Is() {
				t.Skip("Wine tells nobody of a time that was set")
			}
			then := time.Now().Add(-time.Hour).Truncate(time.Second)
			require.NoError(t, os.Chtimes(path, then, then))
			untilStates(t, file, "its new time", func(c StateContent, err error) bool { return err == nil && c.Written.Equal(then) })
			require.NoError(t, os.Remove(path))
			untilStates(t, file, "its end", noStates)
			require.Empty(t, file.Notes())
			require.NoError(t, file.watchError(), "nothing runs while nothing happens")
		})
	}
}

// A folder that appears between the look at what there is and the watch makes no event.
func TestArmHearsWhatCameMeanwhile(t *testing.T) {
	dir := t.TempDir()
	file := openStates(t, filepath.Join(dir, "suite", "states.json"))
	found := stepsTo(file.watch.paths)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "suite"), 0o700))
	_, errs := file.watch.follow(found)
	require.Empty(t, errs)
	require.NoError(t, file.Wait(platformtest.Deadline(t)))
	require.NoError(t, file.arm())
	require.Empty(t, file.changed)
}

// ownFolder is one where nobody else may write, whatever the umask is.
func ownFolder(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	return dir
}

func TestStateFileTooLarge(t *testing.T) {
	path := filepath.Join(ownFolder(t), "states.json")
	file := openStates(t, path)
	save(t, path, strings.Repeat(" ", maxStateFile))
	got, err := file.Read(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Data, maxStateFile)

	require.NoError(t, os.Truncate(path, maxStateFile+1))
	_, err = file.Read(t.Context())
	require.ErrorContains(t, err, path+": larger than the limit of 1048576 bytes")

	require.NoError(t, os.Truncate(path, 1<<30))
	r, err := file.read()
	require.ErrorContains(t, err, "larger than the limit")
	require.Nil(t, r.Data, "nothing is read of what is known to be too large")
}

func TestStateFileThatHangs(t *testing.T) {
	path := filepath.Join(ownFolder(t), "states.json")
	file := openStates(t, path)
	file.guard <- struct{}{} // as if an earlier reading had not returned
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := file.Read(ctx)
	require.ErrorContains(t, err, "an earlier call has not returned")
	<-file.guard
	_, err = file.Read(t.Context())
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, file.watchError())
}

func TestStateFileThatCannotBeWatched(t *testing.T) {
	path := filepath.Join(ownFolder(t), "states.json")
	save(t, path, "[]")
	file, err := NewStateFile(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	_, err = file.Read(t.Context())
	require.NoError(t, err)
	require.Len(t, file.Notes(), 1)
	require.Contains(t, health.English.Phrases(file.Notes())[0], "changes of "+path+" cannot be watched, so it is read every 30s: ")
	require.Error(t, file.watchError())
	require.ErrorIs(t, file.Wait(t.Context()), os.ErrClosed)
}
