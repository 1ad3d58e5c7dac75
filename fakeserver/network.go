package fakeserver

import (
	"fmt"
	"net"
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

func (thisMachine) ListenPort(ports []int) (net.Listener, int, error)  { return listenLoopback(ports) }
func (thisMachine) ListenIPC(dir string) (net.Listener, string, error) { return listenIPC(dir) }
func (thisMachine) ReopenIPC(path string) (net.Listener, error)        { return reopenIPC(path) }

// listenLoopback binds the first free port. The error tells of the first one.
func listenLoopback(ports []int) (net.Listener, int, error) {
	var first error
	for _, port := range ports {
		ln, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return ln, ln.Addr().(*net.TCPAddr).Port, nil
		}
		if first == nil {
			first = err
		}
	}
	if len(ports) == 1 {
		return nil, 0, fmt.Errorf("cannot open the port, another client may hold it: %w", first)
	}
	return nil, 0, fmt.Errorf("none of the %d ports can be opened, other clients may hold them: %w", len(ports), first)
}
