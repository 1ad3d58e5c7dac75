//go:build linux || darwin

package ipc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/platform/files"
	"sidetone/internal/signal"
)

// Sockets lists the discord-ipc-0 to -9 that exist now in the folders, in the order of folder
// and number. A socket that several names lead to, as people link a Flatpak client's, is
// listed once, under the first. Nobody is connected to: that would cost a client's patience
// (rule R67).
//
// Notes tell of an entry that is no socket, and of a folder that cannot be
// looked into. A missing folder and a link that leads to nothing are as they should be while
// no client runs.
func (m Machine) Sockets() (sockets []local.Socket, notes []health.Condition) {
	seen := map[string]bool{}
	for _, folder := range m.list() {
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

func socketsIn(folder string) (sockets []local.Socket, notes []health.Condition) {
	for i := range ipcNumbers {
		path := filepath.Join(folder, socketName(i))
		info, err := os.Lstat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return sockets, append(notes, socketNote(files.Cause(err), health.FolderUnreadable, folder))
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = os.Stat(path)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			notes = append(notes, socketNote(files.Cause(err), health.SocketLinkBroken, path))
		case info.Mode()&fs.ModeSocket == 0:
			args := health.Args{"path": path}
			if kind := kindOf(info); kind != "" {
				args[kind] = "true"
			}
			notes = append(notes, health.Condition{Code: health.SocketIsNone, Severity: health.Warning, Args: args})
		default:
			sockets = append(sockets, local.Socket{Path: path, ID: fileID(info)})
		}
	}
	return sockets, notes
}

func socketNote(err error, code health.Code, path string) health.Condition {
	return health.Wrap(err, code, health.Warning, health.Args{"path": path}).Condition
}

// kindOf is what stands in a socket's place, as an argument of its note.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "folder"
	case info.Mode().IsRegular():
		return "file"
	}
	return ""
}

// Dial connects to a client's socket and says who listens there, as far as the OS tells. It
// takes 5 s at most if ctx has no deadline. Errors say the path, the reason and the remedy.
//
// A client creates its socket before it listens: one that has just appeared may refuse
// (syscall.ECONNREFUSED) and be ready a moment later. One that refuses for longer is left over
// from a client that has ended.
func (Machine) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	// An absolute path is never taken for the name of an abstract socket.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, local.Process{}, fmt.Errorf("client's socket %s: %w", path, err)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", absolute)
	if err != nil {
		return nil, local.Process{}, dialError("socket "+path, err)
	}
	peer, err := peerOfConn(conn.(*net.UnixConn))
	if err != nil {
		conn.Close()
		return nil, local.Process{}, fmt.Errorf("client's socket %s: %w", path, err)
	}
	return conn, peer, nil
}

// dialHints say what the reasons mean for which a client's socket cannot be dialled, and what to do.
var dialHints = []dialHint{
	{syscall.ECONNREFUSED, "nobody listens there, it is left over from a client that has ended; start the client"},
	{fs.ErrPermission, "it belongs to another user; run the agent as the user who runs the client"},
	{fs.ErrNotExist, "the client has ended; start the client"},
	{syscall.EAGAIN, "the client does not take connections, it may hang; restart the client"},
}

// Watch calls notify when it has begun to watch, and then whenever a socket may have
// appeared, gone or changed in one of the folders, until ctx ends; then it returns nil. Folders
// may be missing, come and go. It may call once too often, but not for other files of a busy
// folder. notify must not block. An error means that it cannot watch, or cannot any longer,
// and says what.
//
// Two things go unnoticed: a file system that is mounted over a folder, and, on macOS, that a
// socket is gone.
func (m Machine) Watch(ctx context.Context, notify func()) error {
	var paths []string
	for _, folder := range m.list() {
		absolute, err := filepath.Abs(folder)
		if err != nil {
			return fmt.Errorf("watch for clients' sockets: %s: %w", folder, err)
		}
		for i := range ipcNumbers {
			paths = append(paths, filepath.Join(absolute, socketName(i)))
		}
	}
	changed := signal.New()
	watch, err := files.NewPathWatch(paths, false, changed.Notify)
	if err != nil {
		return fmt.Errorf("watch for clients' sockets: %w", cmp.Or(watchLimit(err), err))
	}
	defer watch.Close()
	logged := "" // which folders that cannot be watched the log has
	for {
		unwatched, err := armIPC(watch)
		if err != nil {
			return fmt.Errorf("watch for clients' sockets: %w", err)
		}
		if unwatched != logged && unwatched != "" {
			m.log.Warn("clients' sockets: a client that starts may go unnoticed in a folder that cannot be watched; let this user read it",
				"folders", unwatched)
		}
		logged = unwatched
		notify()
		if _, err := changed.Wait(ctx, 0, nil); err != nil {
			return nil // the end of ctx is no failure
		}
	}
}

// armIPC says which folders cannot be watched, or that none can.
func armIPC(watch *files.PathWatch) (unwatched string, err error) {
	sees, errs := watch.Arm()
	var texts []string
	for _, err := range errs {
		if limit := watchLimit(err); limit != nil {
			return "", limit
		}
		texts = append(texts, err.Error())
	}
	unwatched = strings.Join(texts, "; ")
	if unwatched != "" && !sees {
		return "", errors.New(unwatched)
	}
	return unwatched, nil
}
