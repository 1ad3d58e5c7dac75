package crash

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// guardedEnv makes this test binary a process that is guarded in that folder. Once its input ends it ends in order, or panics.
const (
	guardedEnv = "CRASH_TEST_FOLDER"
	panicEnv   = "CRASH_TEST_PANIC"
)

func init() {
	folder := os.Getenv(guardedEnv)
	if folder == "" {
		return
	}
	g, err := Open(folder, "sidetone 1.0", 0)
	if err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("guarded\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if os.Getenv(panicEnv) != "" {
		panic("the disk is full")
	}
	g.Close()
	os.Exit(0)
}

// guarded runs such a process, with what is done while it runs.
func guarded(t *testing.T, folder, panics string, meanwhile func()) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), guardedEnv+"="+folder, panicEnv+"="+panics)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 16))
	require.NoError(t, err, "it is guarded")
	meanwhile()
	require.NoError(t, in.Close())
	require.Equal(t, panics != "", cmd.Wait() != nil)
}

// TestLoopOnAFullDisk: crashes count where nothing can be written any more, also after an end in order.
func TestLoopOnAFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=512k"); errors.Is(err, unix.EPERM) {
		t.Skip("only root can mount a disk to be filled")
	} else {
		require.NoError(t, err)
	}
	defer func() { require.NoError(t, unix.Unmount(disk, unix.MNT_DETACH)) }()
	folder := filepath.Join(disk, "state")
	fill := func() {
		rest, err := os.OpenFile(filepath.Join(disk, "rest"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		require.NoError(t, err)
		defer rest.Close()
		for err == nil {
			_, err = rest.Write(make([]byte, 512))
		}
		require.ErrorIs(t, err, unix.ENOSPC)
	}
	guarded(t, folder, "", fill)
	guarded(t, folder, "", func() {})
	for range Limit {
		guarded(t, folder, "yes", fill)
		fill()
	}
	g := open(t, folder)
	require.True(t, g.Looping(time.Now()))
	all := g.Reports()
	require.Len(t, all, Limit)
	require.Contains(t, all[0].Text, "panic: (its words are left out)\ngoroutine ", "what was reserved has room for the first report")
}
