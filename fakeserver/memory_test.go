package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// A memory is a network that exists in this process only, so that a server can
// run in a bubble of synctest, where time is virtual.
type memory struct {
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

const (
	memoryPort = "127.0.0.1:6463"
	memoryPipe = "memory/discord-ipc-0"
)

func (m *memory) ListenPort([]int) (net.Listener, int, error) { return m.listen(memoryPort), 6463, nil }

func (m *memory) ListenIPC(string) (net.Listener, string, error) {
	return m.listen(memoryPipe), memoryPipe, nil
}
func (m *memory) ReopenIPC(path string) (net.Listener, error) { return m.listen(path), nil }

func (m *memory) listen(address string) net.Listener {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.listeners == nil {
		m.listeners = map[string]*memoryListener{}
	}
	ln := &memoryListener{name: address, backlog: make(chan net.Conn, 200), closed: make(chan struct{})}
	m.listeners[address] = ln
	return ln
}

func (m *memory) dial(address string) (net.Conn, error) {
	m.mu.Lock()
	ln := m.listeners[address]
	m.mu.Unlock()
	ours, theirs := net.Pipe()
	select {
	case <-ln.closed:
		return nil, errors.New("refused")
	case ln.backlog <- theirs:
		return ours, nil
	}
}

type memoryListener struct {
	name    string
	backlog chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.backlog:
		return c, nil
	case <-l.closed:
		return nil, fmt.Errorf("accept on %s: %w", l.name, net.ErrClosed)
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddress(l.name) }

type memoryAddress string

func (memoryAddress) Network() string  { return "memory" }
func (a memoryAddress) String() string { return string(a) }
