package ipc

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/platform/session"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/wine"
	"sidetone/internal/winpipe"
)

// Sockets lists the existing discord-ipc-0 to -9 in the order of folder and number. It asks for each name, since to open a pipe, even for
// its attributes, is to connect.
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

// Dial connects to a client's pipe and returns the process that made it, as far as the OS tells. It takes 5 s at most if ctx has no
// deadline. Errors contain path, reason and remedy. The client cannot impersonate this user (anonymous impersonation).
func (Machine) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	ctx, cancel := dialContext(ctx)
	defer cancel()
	conn, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		return nil, local.Process{Denied: errors.Is(err, fs.ErrPermission)}, dialError("pipe "+path, err)
	}
	return conn, pipeOwner(conn), nil
}

// dialHints explain why a client's pipe cannot be dialled.
var dialHints = []dialHint{
	{fs.ErrPermission, "it runs as administrator or belongs to another user; run both as the same user, and neither of them as administrator"},
	{fs.ErrNotExist, "the client has ended; start the client"},
	{context.DeadlineExceeded, "the client does not take connections, it may hang; restart the client"},
}

// administrators own what an elevated administrator creates.
const administrators = "S-1-5-32-544"

// handleOf returns the handle of a connected pipe. One that belongs to no pipe is invalid.
func handleOf(conn net.Conn) windows.Handle {
	if pipe, ok := conn.(interface{ Fd() uintptr }); ok {
		return windows.Handle(pipe.Fd())
	}
	return windows.InvalidHandle
}

// pipeOwner returns the process that made the connected pipe.
func pipeOwner(conn net.Conn) local.Process {
	pipe := handleOf(conn)
	var pid uint32
	if err := windows.GetNamedPipeServerProcessId(pipe, &pid); err != nil {
		return local.Process{}
	}
	p := openProcess(pid)
	defer p.close()
	owner, _ := acl.Owner(pipe, windows.SE_KERNEL_OBJECT) // "": unknown
	if wine.Is() {                                        // there all pipes have the same owner, who is no user
		owner = p.UID
	}
	return ownedBy(p.Process, owner, session.User())
}

// ownedBy returns the process p, which claims to have made a pipe with that owner. Windows vouches for the owner but not for the process,
// so the process can only weaken what the owner proves.
func ownedBy(p local.Process, owner, me string) local.Process {
	switch {
	case owner == administrators: // the process says which of them, unless it is denied
	case owner == me && p.Denied:
		p.UID, p.Denied = me, false
	case owner == "":
		p.UID = ""
	case owner != me:
		p.UID, p.Denied = owner, false
	}
	return p
}

// watchLimit returns nil: there is no limit to raise.
func watchLimit(error) error { return nil }
