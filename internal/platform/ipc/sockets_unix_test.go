//go:build linux || darwin

package ipc

import (
	"context"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/local"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/session"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
)

// in is the machine with clients' sockets in the given folders.
func in(folders ...string) Machine { return NewMachine(folders, platformtest.Quiet()) }

// listenIPC is a client that listens at path until the returned function is called or the test ends.
func listenIPC(t *testing.T, path string) (stop func()) {
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return func() { require.NoError(t, listener.Close()) }
}

func pathsOf(sockets []local.Socket) (paths []string) {
	for _, s := range sockets {
		paths = append(paths, s.Path)
	}
	return paths
}

func TestIPCSocketsAreOrdered(t *testing.T) {
	a, b := ipctest.Folder(t), ipctest.Folder(t)
	var want []string
	for i := 9; i >= 0; i-- {
		listenIPC(t, filepath.Join(b, socketName(i)))
		want = append([]string{filepath.Join(b, socketName(i))}, want...)
	}
	listenIPC(t, filepath.Join(a, socketName(9)))
	for _, foreign := range []string{"discord-ipc-10", "discord-ipc-", "discord-ipc-a", "xdiscord-ipc-0"} {
		listenIPC(t, filepath.Join(b, foreign))
	}
	sockets, notes := in(b, filepath.Join(a, "missing", "too"), a).Sockets()
	require.Empty(t, notes)
	require.Equal(t, append(want, filepath.Join(a, socketName(9))), pathsOf(sockets))
	ids := map[string]bool{}
	for _, s := range sockets {
		require.NotEmpty(t, s.ID)
		ids[s.ID] = true
	}
	require.Len(t, ids, len(sockets), "every socket has its own id")
}

func TestIPCSocketsNotes(t *testing.T) {
	dir := ipctest.Folder(t)
	at := func(i int) string { return filepath.Join(dir, socketName(i)) }
	require.NoError(t, os.WriteFile(at(0), nil, 0o600))
	require.NoError(t, os.Mkdir(at(1), 0o700))
	require.NoError(t, os.Symlink(at(2), at(2)))
	require.NoError(t, os.Symlink(at(0), at(3)))
	require.NoError(t, syscall.Mkfifo(at(4), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "missing"), at(5)))
	platformtest.LeaveStale(t, at(9))

	sockets, notes := in(dir, at(0)).Sockets()
	require.Equal(t, []string{at(9)}, pathsOf(sockets), "it looks like any other until it is dialled")
	for i, want := range []string{
		at(0) + " is a file, not ", at(1) + " is a folder, not ", at(2) + " is a link that cannot be followed (too many levels",
		at(3) + " is a file, not ", at(4) + " is a pipe or a device, not ", at(0) + " cannot be searched for a client's socket (not a directory)",
	} {
		require.Greater(t, len(notes), i, want)
		require.True(t, strings.HasPrefix(health.English.Phrase(notes[i]), want), health.English.Phrase(notes[i]))
	}
	require.Len(t, notes, 6)
	healthtest.Raised(t, notes...)
}

func TestIPCSocketsThroughLinks(t *testing.T) {
	host, sandbox := ipctest.Folder(t), ipctest.Folder(t)
	link, target := filepath.Join(host, socketName(0)), filepath.Join(sandbox, socketName(0))
	require.NoError(t, os.Symlink(target, link))
	sockets, notes := in(host, sandbox).Sockets()
	require.Empty(t, sockets, "the client is not there")
	require.Empty(t, notes)

	listenIPC(t, target)
	sockets, notes = in(host, sandbox).Sockets()
	require.Equal(t, []string{link}, pathsOf(sockets), "one client, listed once")
	require.Empty(t, notes)
	conn, peer, err := in().Dial(t.Context(), link)
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, os.Getpid(), peer.PID)
}

func TestIPCSocketRestart(t *testing.T) {
	path := filepath.Join(ipctest.Folder(t), socketName(0))
	id := func() string {
		sockets, _ := in(filepath.Dir(path)).Sockets()
		require.Len(t, sockets, 1)
		return sockets[0].ID
	}
	stop := listenIPC(t, path)
	before := id()
	require.Equal(t, before, id(), "nothing happened")
	// The clock of a file system moves every few ms.
	require.Eventually(t, func() bool {
		stop()
		stop = listenIPC(t, path)
		return id() != before
	}, 20*time.Second, time.Millisecond)
}

func TestDialIPC(t *testing.T) {
	platformtest.NoLeak(t)
	path := filepath.Join(ipctest.Folder(t), socketName(0))
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer listener.Close()
	conn, peer, err := in().Dial(t.Context(), path)
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, os.Getpid(), peer.PID)
	require.Equal(t, session.User(), peer.UID)
	require.NotEmpty(t, peer.Name)
	require.True(t, strings.HasPrefix(filepath.Base(os.Args[0]), peer.Name), peer.Name)

	served, err := listener.Accept()
	require.NoError(t, err)
	defer served.Close()
	_, err = conn.Write([]byte("ping"))
	require.NoError(t, err)
	got := make([]byte, 4)
	_, err = served.Read(got)
	require.NoError(t, err)
	require.Equal(t, "ping", string(got))
}

func TestDialIPCErrors(t *testing.T) {
	dir := ipctest.Folder(t)
	at := func(i int) string { return filepath.Join(dir, socketName(i)) }
	platformtest.LeaveStale(t, at(0))
	require.NoError(t, os.WriteFile(at(2), nil, 0o600))
	listenIPC(t, at(3))
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		path string
		ctx  context.Context
		want error
		says string
	}{
		{at(0), t.Context(), syscall.ECONNREFUSED, "start the client"},
		{at(1), t.Context(), fs.ErrNotExist, "start the client"},
		{at(3), ended, context.Canceled, "canceled"},
	} {
		conn, peer, err := in().Dial(c.ctx, c.path)
		require.Nil(t, conn)
		require.Zero(t, peer)
		require.ErrorIs(t, err, c.want)
		require.Contains(t, err.Error(), c.says)
		require.Equal(t, 1, strings.Count(err.Error(), c.path), err.Error())
	}
	_, _, err := in().Dial(t.Context(), at(2))
	require.ErrorContains(t, err, at(2))
}

func TestDialContextHasADeadline(t *testing.T) {
	ctx, cancel := dialContext(t.Context())
	defer cancel()
	_, has := ctx.Deadline()
	require.True(t, has)

	given, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	want, _ := given.Deadline()
	ctx, cancel = dialContext(given)
	defer cancel()
	got, _ := ctx.Deadline()
	require.Equal(t, want, got, "the caller's own stands")
}

func TestProgramName(t *testing.T) {
	require.Equal(t, "Discord", programName("Discord\n"))
	require.Equal(t, "?[31mx?y", programName("\x1b[31mx\ny"))
}

// ipcWatching is a Watch under way.
type ipcWatching struct {
	folders  []string
	notified signal.Signal
	calls    atomic.Int32
	ctx      context.Context
}

// watchIPC returns once the watching has begun.
func watchIPC(t *testing.T, folders ...string) *ipcWatching {
	platformtest.NoLeak(t)
	w := &ipcWatching{folders: folders, notified: signal.New(), ctx: platformtest.Deadline(t)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- in(folders...).Watch(ctx, func() {
			w.calls.Add(1)
			w.notified.Notify()
		})
	}()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	w.next(t, "the begin")
	return w
}

func (w *ipcWatching) next(t *testing.T, what string) {
	t.Helper()
	_, err := w.notified.Wait(w.ctx, 0, nil)
	require.NoError(t, err, "no notification of %s", what)
}

// becomes waits for notifications until the sockets are those at paths.
func (w *ipcWatching) becomes(t *testing.T, paths ...string) {
	t.Helper()
	for {
		w.next(t, strings.Join(paths, " "))
		sockets, _ := in(w.folders...).Sockets()
		if strings.Join(pathsOf(sockets), " ") == strings.Join(paths, " ") {
			return
		}
	}
}

func TestWatchIPCAppearAndRemove(t *testing.T) {
	dir := ipctest.Folder(t)
	w := watchIPC(t, dir)
	first, second := filepath.Join(dir, socketName(0)), filepath.Join(dir, socketName(9))
	stop := listenIPC(t, first)
	w.becomes(t, first)
	listenIPC(t, second)
	w.becomes(t, first, second)
	stop()
	w.becomes(t, second)
	listenIPC(t, first)
	w.becomes(t, first, second)
	require.NoError(t, os.Chmod(second, 0o600))
	w.next(t, "changed access")
}

func TestWatchIPCFolderCreatedLater(t *testing.T) {
	dir := ipctest.Folder(t)
	folder := filepath.Join(dir, "app", "com.discordapp.Discord")
	w := watchIPC(t, dir, folder)
	require.NoError(t, os.Mkdir(filepath.Dir(folder), 0o700))
	w.next(t, "the first level")
	require.NoError(t, os.Mkdir(folder, 0o700))
	w.next(t, "the second level")
	path := filepath.Join(folder, socketName(3))
	listenIPC(t, path)
	w.becomes(t, path)
}

// TestWatchIPCFolderCreatedAtOnce hits all phases of a watch that is being set up.
func TestWatchIPCFolderCreatedAtOnce(t *testing.T) {
	dir := ipctest.Folder(t)
	for i := range 150 {
		folder := filepath.Join(dir, strconv.Itoa(i), "x")
		path := filepath.Join(folder, socketName(0))
		ctx, cancel := context.WithCancel(platformtest.Deadline(t))
		var making sync.WaitGroup
		making.Go(func() {
			for spin := time.Now(); time.Since(spin) < time.Duration(i)*20*time.Microsecond; {
				runtime.Gosched()
			}
			assert.NoError(t, os.MkdirAll(folder, 0o700))
			listener, err := net.Listen("unix", path)
			if assert.NoError(t, err) {
				t.Cleanup(func() { listener.Close() })
			}
		})
		found := false
		require.NoError(t, in(folder).Watch(ctx, func() {
			if _, err := os.Stat(path); err == nil {
				found = true
				cancel()
			}
		}))
		making.Wait()
		cancel()
		require.True(t, found, "round %d: the socket went unnoticed", i)
	}
}

func TestWatchIPCFolderRecreated(t *testing.T) {
	folder := filepath.Join(ipctest.Folder(t), "run", "app")
	path := filepath.Join(folder, socketName(0))
	require.NoError(t, os.MkdirAll(folder, 0o700))
	w := watchIPC(t, folder)
	for range 5 {
		listenIPC(t, path)
		w.becomes(t, path)
		require.NoError(t, os.RemoveAll(filepath.Dir(folder)))
		w.becomes(t)
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
}

func TestWatchIPCFolderRenamed(t *testing.T) {
	dir := ipctest.Folder(t)
	folder := filepath.Join(dir, "run", "app")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	path := filepath.Join(folder, socketName(0))
	listenIPC(t, path)
	w := watchIPC(t, folder)
	require.NoError(t, os.Rename(filepath.Dir(folder), filepath.Join(dir, "old")))
	w.becomes(t)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	listenIPC(t, path)
	w.becomes(t, path)
}

func TestWatchIPCLink(t *testing.T) {
	host, sandbox := ipctest.Folder(t), filepath.Join(ipctest.Folder(t), "app")
	link, target := filepath.Join(host, socketName(0)), filepath.Join(sandbox, socketName(5))
	require.NoError(t, os.Symlink(target, link))
	w := watchIPC(t, host)
	require.NoError(t, os.Mkdir(sandbox, 0o700))
	stop := listenIPC(t, target)
	w.becomes(t, link)
	stop()
	w.becomes(t)
	other := filepath.Join(sandbox, "elsewhere")
	listenIPC(t, other)
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(other, link))
	w.becomes(t, link)
}

func TestWatchIPCSilentOnForeignNames(t *testing.T) {
	busy := ipctest.Folder(t)
	occupied, err := os.Create(filepath.Join(busy, socketName(9)))
	require.NoError(t, err)
	defer occupied.Close()
	w := watchIPC(t, busy, filepath.Join(busy, "app", "com.discordapp.Discord"))
	noise := func() {
		_, err := occupied.WriteString("no socket becomes of it")
		require.NoError(t, err)
		for _, name := range []string{"discord-ipc-10", "discord-ipc-x", "discord", "app2", "com.discordapp.Discord"} {
			path := filepath.Join(busy, name)
			for range 20 {
				require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
				require.NoError(t, os.Chmod(path, 0o644))
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Mkdir(path, 0o700))
				require.NoError(t, os.Remove(path))
			}
		}
	}
	for i := range 5 {
		noise()
		// Events come in order: with the notification of the socket, the noise is over.
		path := filepath.Join(busy, socketName(i))
		listenIPC(t, path)
		w.next(t, path)
		require.EqualValues(t, i+2, w.calls.Load(), "one for the begin and one for each socket")
	}
}

func TestWatchIPCEnds(t *testing.T) {
	platformtest.NoLeak(t)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, in(ipctest.Folder(t)).Watch(ctx, cancel))
	require.NoError(t, in(ipctest.Folder(t)).Watch(ctx, func() {}), "ended before it began")
}
