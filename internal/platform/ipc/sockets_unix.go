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

// Sockets lists the existing discord-ipc-0 to -9 in the order of folder and number. A socket with several names, such as one of a Flatpak
// client that people link to, is listed once under the first. It connects to none: that would cost a client's token (rule R67).
//
// Notes report an entry that is no socket and a folder that cannot be read. A missing folder or a dangling link is normal while no client
// runs.
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

// kindOf says what is in a socket's place, as an argument of the note.
func kindOf(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "folder"
	case info.Mode().IsRegular():
		return "file"
	}
	return ""
}

// Dial connects to a client's socket and returns the process that listens there, as far as the OS tells. It takes 5 s at most if ctx has
// no deadline. Errors contain path, reason and remedy.
//
// A client creates its socket before it listens: a new socket may refuse (syscall.ECONNREFUSED) and be ready a moment later. One that
// refuses for longer was left over by a client that has ended.
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

// dialHints explain why a client's socket cannot be dialled.
var dialHints = []dialHint{
	{syscall.ECONNREFUSED, "nobody listens there, it is left over from a client that has ended; start the client"},
	{fs.ErrPermission, "it belongs to another user; run the agent as the user who runs the client"},
	{fs.ErrNotExist, "the client has ended; start the client"},
	{syscall.EAGAIN, "the client does not take connections, it may hang; restart the client"},
}

// Watch calls notify once it watches, and then whenever a socket may have appeared, vanished or changed in one of the folders, until ctx
// ends; then it returns nil. Folders may come and go. It may call notify needlessly, but not for other files of a busy folder. notify
// must not block. An error means that it cannot watch, or no longer can.
//
// It does not notice a file system that is mounted over a folder nor, on macOS, that a socket has vanished.
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
	logged := "" // the unwatchable folders that were logged last
	for {
		unwatched, err := armWatch(watch)
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

// armWatch returns the folders that cannot be watched, or an error if none can.
func armWatch(watch *files.PathWatch) (unwatched string, err error) {
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
