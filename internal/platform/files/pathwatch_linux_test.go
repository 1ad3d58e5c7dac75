package files

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
)

// socketName is that of a client's socket, which paths are watched for.
func socketName(number int) string { return fmt.Sprintf("discord-ipc-%d", number) }

// armed is a PathWatch whose changes ring.
func armed(t *testing.T, paths ...string) (*PathWatch, signal.Signal) {
	platformtest.NoLeak(t)
	changed := signal.New()
	w, err := NewPathWatch(paths, false, changed.Notify)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	sees, errs := w.Arm()
	require.True(t, sees)
	require.Empty(t, errs)
	return w, changed
}

// noise makes, changes and removes files and folders, as programs do in a folder of temporary files.
func noise(t *testing.T, folder string) {
	for _, name := range []string{"a", "discord-ipc-10", "b"} {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		require.NoError(t, os.Chmod(path, 0o644))
		require.NoError(t, os.Rename(path, path+".new"))
		require.NoError(t, os.Remove(path+".new"))
		require.NoError(t, os.Mkdir(path, 0o700))
		require.NoError(t, os.Remove(path))
	}
}

// TestFilesAboveTheFolderMakeNoEvent asks the kernel itself.
func TestFilesAboveTheFolderMakeNoEvent(t *testing.T) {
	dir := ipctest.Folder(t)
	folder := filepath.Join(dir, "run", "app")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.Symlink("run", filepath.Join(dir, "link")))
	w := &PathWatch{mask: entryEvents, names: map[uint32]map[string]bool{}}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(fd)
	sees, gone, errs := w.add(fd, stepsTo([]string{filepath.Join(dir, "link", "app", socketName(0)), filepath.Join(folder, socketName(1))}))
	require.True(t, sees)
	require.False(t, gone)
	require.Empty(t, errs)
	noise(t, dir)
	noise(t, filepath.Dir(folder))
	_, err = unix.Read(fd, make([]byte, 4096))
	require.ErrorIs(t, err, unix.EAGAIN, "files above the folder are nobody's business")
	noise(t, folder)
	n, err := unix.Read(fd, make([]byte, 4096))
	require.NoError(t, err)
	require.Positive(t, n)
}

// What leads to a folder tells that it goes, without a watch on what holds it.
func TestWhatIsOnTheWayTellsThatItGoes(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a folder is renamed": func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(filepath.Join(dir, "run"), filepath.Join(dir, "old")))
		},
		"a link is replaced": func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, "next")))
			require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "link")))
		},
		"a link is removed": func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "link"))) },
		"the folder is removed": func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "run", "app")))
		},
		"access is taken": func(t *testing.T, dir string) {
			require.NoError(t, os.Chmod(filepath.Join(dir, "run", "app"), 0o500))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := ipctest.Folder(t)
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "run", "app"), 0o700))
			require.NoError(t, os.Symlink("run", filepath.Join(dir, "link")))
			_, changed := armed(t, filepath.Join(dir, "link", "app", socketName(0)))
			change(t, dir)
			platformtest.AwaitSignal(t, changed)
		})
	}
}

// TestAnotherFolderOfTheSameName has another folder take the place of a watched one between two
// looks: all paths are as before.
func TestAnotherFolderOfTheSameName(t *testing.T) {
	folder := filepath.Join(ipctest.Folder(t), "app")
	require.NoError(t, os.Mkdir(folder, 0o700))
	w, changed := armed(t, filepath.Join(folder, socketName(0)))
	require.NoError(t, os.Remove(folder))
	require.NoError(t, os.Mkdir(folder, 0o700))
	platformtest.AwaitSignal(t, changed)
	_, errs := w.Arm()
	require.Empty(t, errs)
	platformtest.LeaveStale(t, filepath.Join(folder, socketName(0)))
	platformtest.AwaitSignal(t, changed)
}

func TestWhatIsNoLongerOnTheWayIsLetGo(t *testing.T) {
	dir := ipctest.Folder(t)
	link := filepath.Join(dir, "link")
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	require.NoError(t, os.Symlink("a", link))
	w, changed := armed(t, filepath.Join(link, socketName(0)))
	before := len(w.names)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("b", link))
	platformtest.AwaitSignal(t, changed)
	_, errs := w.Arm()
	require.Empty(t, errs)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Len(t, w.names, before)
	for key := range w.known {
		require.NotEqual(t, filepath.Join(dir, "a"), key.path)
	}
}

func TestLostEventsCountAsAChange(t *testing.T) {
	event := make([]byte, unix.SizeofInotifyEvent)
	event[0], event[1], event[2], event[3] = 0xff, 0xff, 0xff, 0xff // of no watch
	event[5] = unix.IN_Q_OVERFLOW >> 8
	require.True(t, new(PathWatch).concerned(event))
}
