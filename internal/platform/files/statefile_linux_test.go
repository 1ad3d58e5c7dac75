package files

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/platform/platformtest"
)

// TestStateFileOfSomebodyElse plants what another user, or a slip, may have put in the place
// of the file. Each is refused with a remedy, none is waited for, and the user's own file is
// taken as soon as it is there.
func TestStateFileOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		root  bool // only root can plant it
		plant func(t *testing.T, path string)
		want  string
	}{
		"a link": {plant: func(t *testing.T, path string) {
			save(t, path+".real", "[]")
			require.NoError(t, os.Symlink(path+".real", path))
		}, want: "it is a link: name the file that it leads to"},
		"a link to nothing": {plant: func(t *testing.T, path string) {
			require.NoError(t, os.Symlink("nothing", path))
		}, want: "it is a link"},
		"a pipe that nobody writes to": {plant: func(t *testing.T, path string) {
			require.NoError(t, unix.Mkfifo(path, 0o600))
		}, want: "it is a pipe, a socket or a device and not a file: remove it"},
		"a socket": {plant: func(t *testing.T, path string) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			require.NoError(t, err)
			l.SetUnlinkOnClose(false)
			require.NoError(t, l.Close())
		}, want: "it is a pipe, a socket or a device"},
		"a device": {root: true, plant: func(t *testing.T, path string) {
			err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5)))
			if errors.Is(err, unix.EPERM) {
				t.Skip("this system lets nobody make a device")
			}
			require.NoError(t, err)
		}, want: "it is a pipe, a socket or a device"},
		"a folder": {plant: func(t *testing.T, path string) {
			require.NoError(t, os.Mkdir(path, 0o700))
		}, want: "it is a folder: name a file in it"},
		"a file of another user": {root: true, plant: func(t *testing.T, path string) {
			save(t, path, "[]")
			require.NoError(t, os.Chown(path, 65534, 65534))
		}, want: "it belongs to another user (uid 65534): have the vendor's software write it as the user who runs the agent"},
		"a file that the group may write": {plant: func(t *testing.T, path string) {
			save(t, path, "[]")
			require.NoError(t, os.Chmod(path, 0o620))
		}, want: "others than its owner may write to it (mode 0620): forbid it (chmod go-w "},
		"a file that everybody may write": {plant: func(t *testing.T, path string) {
			save(t, path, "[]")
			require.NoError(t, os.Chmod(path, 0o602))
		}, want: "others than its owner may write to it (mode 0602): forbid it (chmod go-w "},
		"a file in a folder that everybody may write to": {plant: func(t *testing.T, path string) {
			save(t, path, "[]")
			require.NoError(t, os.Chmod(filepath.Dir(path), 0o777))
		}, want: "everybody may write to its folder: forbid it (chmod o-w "},
	} {
		t.Run(name, func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root can make it")
			}
			path := filepath.Join(t.TempDir(), "suite", "states.json")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			c.plant(t, path)
			file := openStates(t, path)
			_, err := file.Read(platformtest.Deadline(t))
			require.ErrorContains(t, err, "state file "+path+": "+c.want)
			require.NotErrorIs(t, err, fs.ErrNotExist)
			require.False(t, strings.Contains(err.Error(), "open "), "the path stands once: %v", err)

			require.NoError(t, os.Chmod(filepath.Dir(path), 0o700))
			require.NoError(t, os.RemoveAll(path))
			save(t, path, "[]")
			says(t, file, "[]")
		})
	}
}

// A folder such as /tmp does: nobody can touch what others have put there.
func TestStateFileInAStickyFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tmp", "states.json")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	require.NoError(t, os.Chmod(filepath.Dir(path), 0o777|fs.ModeSticky))
	save(t, path, "[]")
	_, err := openStates(t, path).Read(t.Context())
	require.NoError(t, err)
}

// Links among the folders are the user's own affair, and are followed when they change.
func TestStateFileBehindALinkedFolder(t *testing.T) {
	dir := t.TempDir()
	for _, v := range []string{"v1", "v2"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, v), 0o700))
		save(t, filepath.Join(dir, v, "states.json"), v)
	}
	require.NoError(t, os.Symlink("v1", filepath.Join(dir, "suite")))
	file := openStates(t, filepath.Join(dir, "suite", "states.json"))
	got, err := file.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v1", string(got.Data))
	require.NoError(t, os.Symlink("v2", filepath.Join(dir, "next")))
	require.NoError(t, os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "suite")))
	says(t, file, "v2")
}
