//go:build unix

package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// maxSocketPath is the longest path of a socket that every Unix takes, in bytes.
const maxSocketPath = 103

// probeTimeout is for the question whether a socket file has an owner.
const probeTimeout = time.Second

// ipcStart keeps two servers of one process from replacing the same dead file.
var ipcStart sync.Mutex

// listenIPC binds the first free socket of the folder.
func listenIPC(dir string) (net.Listener, string, error) {
	for slot := range ipcSlots {
		path := filepath.Join(dir, fmt.Sprintf("discord-ipc-%d", slot))
		ln, err := listenSocket(path)
		if err == nil {
			return ln, path, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("none of discord-ipc-0 to -9 in %s is free, other clients may hold them", dir)
}

// reopenIPC binds the socket again that was closed by a fault.
func reopenIPC(path string) (net.Listener, error) { return listenSocket(path) }

// listenSocket binds a socket that only its user may open. The file of a
// server that died is replaced.
func listenSocket(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("cannot open the IPC socket %s: the path has %d bytes, a socket's may have %d at most",
			path, len(path), maxSocketPath)
	}
	ipcStart.Lock()
	defer ipcStart.Unlock()
	ln, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
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
