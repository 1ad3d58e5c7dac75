//go:build unix

package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxSocketPath is the longest path of a socket that every Unix takes, in bytes.
const maxSocketPath = 103

// probeTimeout limits the check whether somebody listens on a socket file.
const probeTimeout = time.Second

// ipcStart keeps two servers of one process from replacing the same stale file.
var ipcStart sync.Mutex

// isTaken reports whether a socket or a port cannot be bound because somebody has it.
func isTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// ReopenIPC binds a socket.
func (thisMachine) ReopenIPC(path string) (net.Listener, error) { return bindIPC(path) }

// bindIPC binds a socket that only its user may open. It replaces the file of a
// server that died.
func bindIPC(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("cannot open the IPC socket %s: the path has %d bytes, a socket's may have %d at most",
			path, len(path), maxSocketPath)
	}
	ipcStart.Lock()
	defer ipcStart.Unlock()
	ln, err := net.Listen("unix", path)
	if isTaken(err) && abandoned(path) {
		if err = os.Remove(path); err == nil {
			ln, err = net.Listen("unix", path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the IPC socket %s: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = ln.Close()
		return nil, fmt.Errorf("cannot keep other users from the IPC socket %s: %w", path, err)
	}
	return ln, nil
}

// abandoned reports whether the path is a socket that nobody listens on.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := net.DialTimeout("unix", path, probeTimeout)
	if err == nil {
		_ = c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
