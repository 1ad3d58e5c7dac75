package fakeserver

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// A Network is where a server listens. A test may give one that exists in memory only.
type Network interface {
	// ListenPort binds the first free one of the ports of 127.0.0.1 (0: any) and says which.
	ListenPort(ports []int) (net.Listener, int, error)
	// ListenIPC binds the first free socket of discord-ipc-0..9 in the folder and returns its path.
	ListenIPC(dir string) (net.Listener, string, error)
	// ReopenIPC binds again the socket with a path that ListenIPC returned.
	ReopenIPC(path string) (net.Listener, error)
}

// thisMachine is the network of the operating system.
type thisMachine struct{}

// ListenPort binds the first free port. The error tells of the first one. For a single port it waits a little: who closes it and opens it
// again finds it taken for as long as a child, started meanwhile by another goroutine, has not yet become another program.
func (thisMachine) ListenPort(ports []int) (net.Listener, int, error) {
	if len(ports) == 1 {
		ln, err := listenAgain(func() (net.Listener, error) { return listenTCP(ports[0]) }, isTakenPort)
		if err != nil {
			return nil, 0, fmt.Errorf("cannot open the port, another client may hold it: %w", err)
		}
		return ln, ln.Addr().(*net.TCPAddr).Port, nil
	}
	var first error
	for _, port := range ports {
		ln, err := listenTCP(port)
		if err == nil {
			return ln, ln.Addr().(*net.TCPAddr).Port, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, 0, fmt.Errorf("none of the %d ports can be opened, other clients may hold them: %w", len(ports), first)
}

func listenTCP(port int) (net.Listener, error) {
	return net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
}

// reopenTimeout is how long what was closed may still count as taken.
const reopenTimeout = 2 * time.Second

// listenAgain binds what this process may have had until just now.
func listenAgain(listen func() (net.Listener, error), taken func(error) bool) (net.Listener, error) {
	for end := time.Now().Add(reopenTimeout); ; time.Sleep(10 * time.Millisecond) {
		ln, err := listen()
		if err == nil || !taken(err) || time.Now().After(end) {
			return ln, err
		}
	}
}

// ipcSlots is how many sockets there are: discord-ipc-0 to discord-ipc-9.
const ipcSlots = 10

// ListenIPC binds the first free socket of the folder.
func (thisMachine) ListenIPC(dir string) (net.Listener, string, error) {
	for slot := range ipcSlots {
		path := filepath.Join(dir, fmt.Sprintf("discord-ipc-%d", slot))
		ln, err := bindIPC(path)
		switch {
		case err == nil:
			return ln, path, nil
		case !isTaken(err):
			return nil, "", err
		}
	}
	return nil, "", fmt.Errorf("none of discord-ipc-0 to -9 in %s is free, other clients may hold them", dir)
}
