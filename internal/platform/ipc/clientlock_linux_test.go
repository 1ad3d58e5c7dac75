package ipc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

const snowflake = "123456789012345678"

func TestLockClient(t *testing.T) {
	platformtest.NoLeak(t)
	folder := filepath.Join(ipctest.Folder(t), "sidetone")
	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	for _, private := range []string{folder, filepath.Join(folder, "clients")} {
		info, err := os.Stat(private)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), private)
	}

	_, err = LockClient(folder, snowflake)
	var running *ErrRunning
	require.ErrorAs(t, err, &running)
	require.Equal(t, os.Getpid(), running.PID)
	require.Equal(t, fmt.Sprintf("another agent (process %d) of this user runs already for client_id %s and holds %s/clients/%s.lock: stop it first",
		os.Getpid(), snowflake, folder, snowflake), err.Error())
	other, err := LockClient(folder, "223456789012345678")
	require.NoError(t, err)
	require.NoError(t, other.Close())

	require.NoError(t, lock.Close())
	again, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}

// TestLocksOnAFullDisk has files in their place to which nothing can be written.
func TestLocksOnAFullDisk(t *testing.T) {
	platformtest.NoLeak(t)
	folder := filepath.Join(ipctest.Folder(t), "sidetone")
	vendor := filepath.Join(folder, "acme")
	full := int(unix.Mkdev(1, 7)) // /dev/full
	for _, path := range []string{filepath.Join(folder, "clients", snowflake+".lock"), filepath.Join(vendor, controlLock)} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		err := unix.Mknod(path, unix.S_IFCHR|0o600, full)
		if errors.Is(err, unix.EPERM) {
			t.Skip("only root can make such a file")
		}
		require.NoError(t, err)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, unix.EACCES) {
			t.Skip("there are no devices in this file system")
		}
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}

	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	_, err = LockClient(folder, snowflake)
	require.ErrorAs(t, err, new(*ErrRunning))
	require.NoError(t, lock.Close())

	l, err := ListenControl(filepath.Join(vendor, paths.ControlSocket))
	require.NoError(t, err)
	_, err = ListenControl(filepath.Join(vendor, paths.ControlSocket))
	require.ErrorAs(t, err, new(*ErrRunning))
	require.NoError(t, l.Close())
}

func TestAgentsTellEachOther(t *testing.T) {
	platformtest.NoLeak(t)
	folder := filepath.Join(ipctest.Folder(t), "sidetone")
	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(platformtest.Deadline(t))
	ended := make(chan error, 1)
	heard := make(chan struct{}, 100)
	go func() { ended <- lock.Watch(ctx, platformtest.Quiet(), func() { heard <- struct{}{} }, func() {}) }()
	hears := func(what string) {
		t.Helper()
		select {
		case <-heard:
		case <-ctx.Done():
			require.Fail(t, "not heard", what)
		}
	}
	hears("the beginning")
	other, err := LockClient(folder, "223456789012345678")
	require.NoError(t, err)
	other.Announce()
	hears("an announcement")

	lock.Announce() // its own
	require.NoError(t, os.WriteFile(filepath.Join(folder, "clients", "note"), nil, 0o600))
	require.NoError(t, os.Chmod(filepath.Join(folder, "clients", "note"), 0o400))
	require.NoError(t, other.Close())
	hears("the end")
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, heard, "events come in order: there was nothing else to hear")
	require.NoError(t, lock.Close())
}

// TestLockFileIsRemoved by a tidy-up: it is made again, and locked. Where another agent is faster, this one is told.
func TestLockFileIsRemoved(t *testing.T) {
	platformtest.NoLeak(t)
	folder := filepath.Join(ipctest.Folder(t), "sidetone")
	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(platformtest.Deadline(t))
	defer stop()
	watches, restored, ended := make(chan struct{}, 100), make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- lock.Watch(ctx, platformtest.Quiet(), func() { watches <- struct{}{} }, func() { restored <- struct{}{} })
	}()
	<-watches
	for _, gone := range []string{filepath.Join(folder, "clients", snowflake+".lock"), filepath.Join(folder, "clients"), folder} {
		_ = os.RemoveAll(gone) // it may be made again meanwhile
		testlab.Eventually(t, "it is made again", func() bool {
			there, missing := os.Lstat(lock.held().Path())
			has, unknown := lock.held().Stat()
			return missing == nil && unknown == nil && os.SameFile(there, has)
		})
		<-restored
		_, err = LockClient(folder, snowflake)
		require.ErrorAs(t, err, new(*ErrRunning), gone)
	}
	elsewhere := filepath.Join(ipctest.Folder(t), "sidetone")
	faster, err := LockClient(elsewhere, snowflake)
	require.NoError(t, err)
	file := filepath.Join("clients", snowflake+".lock")
	require.NoError(t, os.Rename(filepath.Join(elsewhere, file), filepath.Join(folder, file)))
	require.ErrorAs(t, <-ended, new(*ErrRunning))
	require.NoError(t, faster.Close())
	require.NoError(t, lock.Close())
}

func TestAgents(t *testing.T) {
	runtime := ipctest.Folder(t)
	env := func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": runtime}[name] }
	found, err := Agents(t.Context(), env)
	require.NoError(t, err)
	require.Empty(t, found)

	folder, err := paths.AgentsFolder(env)
	require.NoError(t, err)
	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	defer lock.Close()
	var want []Agent
	for _, vendor := range []string{"acme", "beta", "gone"} {
		address, err := paths.ControlAddress(env, vendor)
		require.NoError(t, err)
		l, err := ListenControl(address)
		require.NoError(t, err)
		if vendor == "gone" {
			require.NoError(t, l.Close())
			platformtest.LeaveStale(t, address) // a socket that is left over
			continue
		}
		defer l.Close()
		want = append(want, Agent{vendor, address})
	}
	found, err = Agents(t.Context(), env)
	require.NoError(t, err)
	require.Equal(t, want, found)
}

// TestATryInVainWritesNothing: it would wake whoever watches the folder.
func TestATryInVainWritesNothing(t *testing.T) {
	platformtest.NoLeak(t)
	folder := filepath.Join(ipctest.Folder(t), "sidetone")
	address := filepath.Join(folder, "acme", paths.ControlSocket)
	lock, err := LockClient(folder, snowflake)
	require.NoError(t, err)
	defer lock.Close()
	l, err := ListenControl(address)
	require.NoError(t, err)
	defer l.Close()
	watcher, err := fsnotify.NewWatcher()
	require.NoError(t, err)
	defer watcher.Close()
	for _, watched := range []string{folder, filepath.Join(folder, clientsLocks), filepath.Dir(address)} {
		require.NoError(t, watcher.Add(watched))
	}
	quiet := func(try func() error) {
		t.Helper()
		require.ErrorAs(t, try(), new(*ErrRunning))
		last := filepath.Join(folder, "last")
		require.NoError(t, os.WriteFile(last, nil, 0o600))
		require.Equal(t, fsnotify.Event{Name: last, Op: fsnotify.Create}, <-watcher.Events, "events come in order")
		require.NoError(t, os.Remove(last))
		for e := range watcher.Events {
			if e.Has(fsnotify.Remove) {
				break
			}
		}
	}
	listen := func() error {
		_, err := ListenControl(address)
		return err
	}
	quiet(func() error {
		_, err := LockClient(folder, snowflake)
		return err
	})
	quiet(listen)
	// A tidy-up has removed the file that was locked, and put one in its place.
	file := filepath.Join(filepath.Dir(address), controlLock)
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.WriteFile(file, []byte("somebody\n"), 0o600))
	for e := range watcher.Events {
		if e.Name == file && e.Has(fsnotify.Write) {
			break
		}
	}
	quiet(listen)
}
