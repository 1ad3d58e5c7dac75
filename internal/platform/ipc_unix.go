//go:build linux || darwin

package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// IPCSockets lists the discord-ipc-0 to -9 that exist now in folders, in the order of folder
// and number. A socket that several names lead to, as people link a Flatpak client's, is
// listed once, under the first. Nobody is connected to: that would cost a client's patience
// (rule R67).
//
// Notes are for people, one sentence each: an entry that is no socket, a folder that cannot be
// looked into. A missing folder and a link that leads to nothing are as they should be while
// no client runs.
func IPCSockets(folders []string) (sockets []IPCSocket, notes []string) {
	seen := map[string]bool{}
	for _, folder := range folders {
		found, remarks := socketsIn(folder)
		for _, s := range found {
			if s.ID == "" || !seen[s.ID] {
				seen[s.ID] = true
				sockets = append(sockets, s)
			}
		}
		notes = append(notes, remarks...)
	}
	return sockets, notes
}

func socketsIn(folder string) (sockets []IPCSocket, notes []string) {
	for i := range ipcNumbers {
		path := filepath.Join(folder, ipcName(i))
		info, err := os.Lstat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sockets, append(notes, fmt.Sprintf("%s cannot be looked into for a client's socket (%v): let this user enter it, or leave it out of the folders", folder, cause(err)))
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is a link that cannot be followed (%v): remove it, or let this user follow it", path, cause(err)))
		case info.Mode()&fs.ModeSocket == 0:
			notes = append(notes, fmt.Sprintf("%s is %s and not a client's socket: remove it and restart the client", path, kindOf(info)))
		default:
			sockets = append(sockets, IPCSocket{Path: path, ID: fileID(info)})
		}
	}
	return sockets, notes
}

// cause is an error of a file operation without the path, which the reader knows already.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a folder"
	case info.Mode().IsRegular():
		return "a file"
	}
	return "a pipe or a device"
}

// DialIPC connects to a client's socket and says who listens there, as far as the OS tells. It
// takes 5 s at most if ctx has no deadline. Errors say the path, the reason and the remedy.
//
// A client creates its socket before it listens: one that has just appeared may refuse
// (syscall.ECONNREFUSED) and be ready a moment later. One that refuses for longer is left over
// from a client that has ended.
func DialIPC(ctx context.Context, path string) (net.Conn, Process, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	// An absolute path is never taken for the name of an abstract socket.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, Process{}, fmt.Errorf("client's socket %s: %w", path, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", absolute)
	if err != nil {
		return nil, Process{}, dialError(path, err)
	}
	var peer Process
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { peer = peerOf(int(fd)) })
	}
	if err != nil {
		conn.Close()
		return nil, Process{}, fmt.Errorf("client's socket %s: %w", path, err)
	}
	return conn, peer, nil
}

// dialError says what the reason means and what to do.
func dialError(path string, err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the path
	}
	var hint string
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = ": nobody listens there, it is left over from a client that has ended; start the client"
	case errors.Is(err, fs.ErrPermission):
		hint = ": it belongs to another user; run Sidetone as the user who runs the client"
	case errors.Is(err, fs.ErrNotExist):
		hint = ": the client has ended; start the client"
	case errors.Is(err, syscall.EAGAIN):
		hint = ": the client does not take connections, it may hang; restart the client"
	}
	return fmt.Errorf("client's socket %s: %w%s", path, err, hint)
}

// CurrentUser is the user under which this process runs, in the form of Process.UID.
func CurrentUser() string { return strconv.Itoa(os.Geteuid()) }

// WatchIPC calls notify when it has begun to watch, and then whenever a socket may have
// appeared, gone or changed in one of the folders, until ctx ends; then it returns nil. Folders
// may be missing, come and go. It may call once too often, but not for other files of a busy
// folder. notify must not block. An error means that it cannot watch, or cannot any longer,
// and says what.
//
// Two things go unnoticed: a file system that is mounted over a folder, and, on macOS, that a
// socket is gone.
func WatchIPC(ctx context.Context, folders []string, log *slog.Logger, notify func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		if limit := watchLimit(err); limit != nil {
			err = limit
		}
		return fmt.Errorf("watch for clients' sockets: %w", err)
	}
	w := &ipcWatch{folders: folders, log: log, watcher: watcher, changed: newBell()}
	w.points.Store(&map[string]bool{})
	var hearing sync.WaitGroup
	hearing.Go(w.hear)
	defer hearing.Wait()
	defer watcher.Close()
	for {
		if err := w.arm(ctx); err != nil {
			return fmt.Errorf("watch for clients' sockets: %w", err)
		}
		notify()
		if _, err := w.changed.wait(ctx, 0, nil); err != nil {
			return nil // the end of ctx is no failure
		}
	}
}

type ipcWatch struct {
	folders []string
	log     *slog.Logger
	watcher *fsnotify.Watcher
	points  atomic.Pointer[map[string]bool] // paths whose events count
	changed bell
	said    string // what the log has of folders that cannot be watched
}

// hear ends when the watcher is closed. It has a goroutine of its own because the watcher may
// hold a lock while it delivers.
func (w *ipcWatch) hear() {
	for {
		select {
		case event, open := <-w.watcher.Events:
			if !open {
				return
			}
			// What is written into a file makes no socket of it.
			if event.Op != fsnotify.Write && (*w.points.Load())[fold(filepath.Clean(event.Name))] {
				w.changed.ring()
			}
		case err, open := <-w.watcher.Errors:
			if !open {
				return
			}
			w.log.Debug("clients' sockets: events may have been lost", "err", err)
			w.changed.ring()
		}
	}
}

// arm watches all that leads to the sockets, again even if it was watched: the folder may be
// another one of the same name. It starts over until nothing has changed meanwhile: what
// appears just before its folder is watched makes no event.
func (w *ipcWatch) arm(ctx context.Context) error {
	for ctx.Err() == nil {
		points, folders, err := w.look()
		if err != nil {
			return err
		}
		w.points.Store(&points)
		if err := w.watch(folders); err != nil {
			return err
		}
		if again, _, _ := w.look(); maps.Equal(again, points) {
			return nil
		}
	}
	return nil
}

// look returns the paths that lead to the sockets now, and the folders that hold these paths.
// Those that hold a socket, a link or the first missing name are true. The others are there
// for a rename: only the folder that holds a folder tells of it.
func (w *ipcWatch) look() (points, folders map[string]bool, err error) {
	points, folders = map[string]bool{}, map[string]bool{}
	for _, folder := range w.folders {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", folder, err)
		}
		for i := range ipcNumbers {
			for _, point := range waypoints(filepath.Join(absolute, ipcName(i))) {
				folders[filepath.Dir(point)] = true
				for at, holder := point, filepath.Dir(point); at != holder; at, holder = holder, filepath.Dir(holder) {
					points[fold(at)] = true
					if !folders[holder] {
						folders[holder] = false
					}
				}
			}
		}
	}
	return points, folders, nil
}

// watch follows exactly the given folders. Old ones go first: one that was renamed is the same
// to the kernel. Parents come before their children: so a child that vanishes and returns in
// between is an event.
func (w *ipcWatch) watch(folders map[string]bool) error {
	for _, old := range w.watcher.WatchList() {
		if _, wanted := folders[old]; !wanted {
			_ = w.watcher.Remove(old) // it may be gone already
		}
	}
	var blind []string
	sees := false
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		err := w.watcher.Add(folder)
		if limit := watchLimit(err); limit != nil {
			return fmt.Errorf("%s: %w", folder, limit)
		}
		switch {
		case err == nil:
			sees = sees || folders[folder]
		case folders[folder] && !errors.Is(err, fs.ErrNotExist):
			blind = append(blind, fmt.Sprintf("%s: %v", folder, cause(err)))
		}
	}
	text := strings.Join(blind, "; ")
	if text != "" && !sees {
		return errors.New(text)
	}
	if text != w.said && text != "" {
		w.log.Warn("clients' sockets: a client that starts may go unnoticed in a folder that cannot be watched; let this user read it", "folders", text)
	}
	w.said = text
	return nil
}
