package ipc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/platform/session"
	"sidetone/internal/winpipe"
)

// Sockets lists the discord-ipc-0 to -9 that exist now in the folders, in the order of folder
// and number. It asks for each name: to open a pipe, even for its attributes, is to connect.
func (m Machine) Sockets() (sockets []local.Socket, notes []health.Condition) {
	for _, folder := range m.list() {
		for i := range ipcNumbers {
			if path := filepath.Join(folder, socketName(i)); winpipe.Exists(path) {
				sockets = append(sockets, local.Socket{Path: path})
			}
		}
	}
	return sockets, nil
}

// Dial connects to a client's pipe and says who made it, as far as the OS tells. It takes
// 5 s at most if ctx has no deadline. Errors say the path, the reason and the remedy. The
// client cannot act in this user's name (anonymous impersonation).
func (Machine) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		return nil, local.Process{}, dialError("pipe "+path, err)
	}
	var peer local.Process
	if pipe, ok := conn.(interface{ Fd() uintptr }); ok {
		peer = pipeOwner(windows.Handle(pipe.Fd()))
	}
	return conn, peer, nil
}

// dialHints say what the reasons mean for which a client's pipe cannot be dialled, and what to do.
var dialHints = []dialHint{
	{fs.ErrPermission, "it belongs to another user; run Sidetone as the user who runs the client, and neither of them as administrator"},
	{fs.ErrNotExist, "the client has ended; start the client"},
	{context.DeadlineExceeded, "the client does not take connections, it may hang; restart the client"},
}

// pipeOwner says which process made the pipe.
func pipeOwner(pipe windows.Handle) local.Process {
	var pid uint32
	if err := windows.GetNamedPipeServerProcessId(pipe, &pid); err != nil {
		return local.Process{}
	}
	p := local.Process{PID: int(pid)}
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return p
	}
	defer windows.CloseHandle(process)
	var path [windows.MAX_LONG_PATH]uint16
	size := uint32(len(path))
	if err := windows.QueryFullProcessImageName(process, 0, &path[0], &size); err == nil {
		p.Name = programName(filepath.Base(windows.UTF16ToString(path[:size])))
	}
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return p
	}
	defer token.Close()
	p.UID = session.UserOf(token)
	return p
}

// Watch cannot watch: Windows tells nobody of a new pipe. It returns at once with
// errors.ErrUnsupported.
func (Machine) Watch(context.Context, func()) error {
	return fmt.Errorf("watch for clients' pipes: %w: Windows does not tell of a new pipe", errors.ErrUnsupported)
}

// watchLimit knows of no limit that could be raised.
func watchLimit(error) error { return nil }
