package fakeserver

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"time"
)

// A Network opens the listeners of a server. Tests may pass one in memory.
type Network interface {
	// ListenPort binds the first free port of 127.0.0.1 among ports (0: any) and returns it.
	ListenPort(ports []int) (net.Listener, int, error)
	// ListenIPC binds the first free socket of discord-ipc-0..9 in the folder and returns its path.
	ListenIPC(dir string) (net.Listener, string, error)
	// ReopenIPC binds the socket of a path that ListenIPC returned once more.
	ReopenIPC(path string) (net.Listener, error)
}

// thisMachine is the network of the operating system.
type thisMachine struct{}

// ListenPort binds the first free port. The error is that of the first one. A single port may have been closed just now by
// this process: it counts as taken until a child, started meanwhile by another goroutine, has executed its program. So it is retried.
func (thisMachine) ListenPort(ports []int) (net.Listener, int, error) {
	failed := "cannot open the port, another client may hold it"
	listen := listenTCP
	if len(ports) == 1 {
		listen = func(port int) (net.Listener, error) {
			return listenAgain(func() (net.Listener, error) { return listenTCP(port) }, isTaken)
		}
	} else {
		failed = fmt.Sprintf("none of the %d ports can be opened, other clients may hold them", len(ports))
	}
	var first error
	for _, port := range ports {
		ln, err := listen(port)
		if err == nil {
			return ln, ln.Addr().(*net.TCPAddr).Port, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, 0, fmt.Errorf("%s: %w", failed, first)
}

func listenTCP(port int) (net.Listener, error) {
	return net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
}

// reopenTimeout is how long an address that was closed may still count as taken.
const reopenTimeout = 2 * time.Second

// listenAgain binds an address that this process may have closed just now.
func listenAgain(listen func() (net.Listener, error), taken func(error) bool) (net.Listener, error) {
	for end := time.Now().Add(reopenTimeout); ; time.Sleep(10 * time.Millisecond) {
		ln, err := listen()
		if err == nil || !taken(err) || time.Now().After(end) {
			return ln, err
		}
	}
}

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
