package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is a Local of which a test decides who owns what. Sockets and ports are real.
type machine struct {
	dir  string // of IPC sockets
	user string

	mu       sync.Mutex
	owners   map[string]Process // by path of a socket, or by port as text
	lineages map[int]Lineage    // by pid
	notify   func()
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir, err := os.MkdirTemp("", "rpc") // the names of sockets must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return &machine{dir: dir, user: "1000", owners: make(map[string]Process)}
}

// own says whose a socket (by path) or port (by number) is. A socket is this user's unless it says otherwise.
func (m *machine) own(what any, p Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners[fmt.Sprint(what)] = p
}

// appear is what a watcher of the folder would say.
func (m *machine) appear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notify != nil {
		m.notify()
	}
}

func (m *machine) Sockets() ([]Socket, []string) {
	var sockets []Socket
	var notes []string
	for i := range 10 {
		path := filepath.Join(m.dir, fmt.Sprintf("discord-ipc-%d", i))
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSocket == 0:
			notes = append(notes, path+" is no socket")
		default:
			sockets = append(sockets, Socket{path, fmt.Sprint(info.ModTime().UnixNano())})
		}
	}
	return sockets, notes
}

func (m *machine) Dial(ctx context.Context, path string) (net.Conn, Process, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	m.mu.Lock()
	defer m.mu.Unlock()
	owner, said := m.owners[path]
	if !said {
		owner.UID = m.user
	}
	return conn, owner, err
}

// Listeners reads what Linux says of sockets.
func (m *machine) Listeners(ports []int) ([]Listener, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.ErrUnsupported
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, err
	}
	var found []Listener
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		port, _ := strconv.ParseInt(hex, 16, 32)
		id, _ := strconv.ParseUint(f[9], 10, 64)
		if slices.Contains(ports, int(port)) {
			found = append(found, Listener{int(port), id, Process{UID: m.owners[strconv.Itoa(int(port))].UID}})
		}
	}
	return found, nil
}

func (m *machine) Identify(listeners []Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, l := range listeners {
		listeners[i].Process = m.owners[strconv.Itoa(l.Port)]
	}
}

func (m *machine) LineageOf(pid int) Lineage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lineages[pid]
}

func (m *machine) Watch(ctx context.Context, notify func()) error {
	m.mu.Lock()
	m.notify = notify
	m.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (m *machine) User() string { return m.user }
