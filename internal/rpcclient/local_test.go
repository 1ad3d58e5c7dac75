package rpcclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
)

const (
	someUser = "1000"
	ipcDir   = "/run"
)

// machine is where a test's agents and clients run, and a Local of which the test decides who owns
// what. Its sockets and ports are in memory, or the kernel's.
type machine struct {
	*memnet.Network // nil: the kernel's
	t               *testing.T
	me              *memnet.Process // the agent
	others          *memnet.Process // all clients that have no process of their own
	dir             string          // of IPC sockets
	user            string

	mu       sync.Mutex
	owners   map[string]local.Process // by path of a socket, or by port as text
	lineages map[int]local.Lineage    // by pid
	links    map[string]string        // to sockets, where there are no files
	hidden   []int                    // ports of which nobody knows whose they are
	alike    bool                     // nobody tells a port from the one that was there before it
	unlisted []int                    // ports that the system does not list
	windows  bool                     // it says that there are such ports, a refusal takes 2 s, and sockets have no ids
	dialled  []int                    // ports that were connected to
	notify   func()
	looks    int
	freed    int // ports that freePorts has given, in memory
}

// inVirtualTime runs f on a machine in memory and in virtual time.
func inVirtualTime(t *testing.T, f func(t *testing.T, m *machine)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, inMemory(t, memnet.New(memnet.Options{Delay: travels}))) })
}

// travels is how long anything takes in memory: no two things that follow from one another happen at once.
func travels(string, int) time.Duration { return 50 * time.Microsecond }

// onSockets runs f on this machine, over the kernel's sockets.
func onSockets(t *testing.T, f func(t *testing.T, m *machine)) {
	t.Parallel()
	f(t, newMachine(t))
}

// everywhere does both.
func everywhere(t *testing.T, f func(t *testing.T, m *machine)) {
	t.Parallel()
	t.Run("in memory", func(t *testing.T) { inVirtualTime(t, f) })
	t.Run("over sockets", func(t *testing.T) { onSockets(t, f) })
}

// everywhereWithFiles does both where sockets have files, which outlive a listener and tell one from the next.
func everywhereWithFiles(t *testing.T, f func(t *testing.T, m *machine)) {
	if runtime.GOOS == "windows" {
		inVirtualTime(t, f)
		return
	}
	everywhere(t, f)
}

func inMemory(t *testing.T, n *memnet.Network) *machine {
	return &machine{
		Network: n, t: t, me: n.Process(local.Process{PID: 1, UID: someUser, Name: "sidetone"}), others: n.Process(local.Process{}),
		dir: ipcDir, user: someUser, owners: make(map[string]local.Process), lineages: make(map[int]local.Lineage), links: make(map[string]string),
	}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{
		t: t, dir: ipctest.Folder(t), user: someUser,
		owners: make(map[string]local.Process), lineages: make(map[int]local.Lineage), links: make(map[string]string),
	}
}

// elsewhere is the same machine with another folder of sockets.
func (m *machine) elsewhere() *machine {
	if m.Network == nil {
		return newMachine(m.t)
	}
	other := inMemory(m.t, m.Network)
	other.dir, other.others = "/elsewhere", m.others
	return other
}

// socket is the path of a client's socket. Those in memory are no files of this system.
func (m *machine) socket(number int) string {
	name := fmt.Sprintf("discord-ipc-%d", number)
	if m.Network == nil {
		return filepath.Join(m.dir, name)
	}
	return path.Join(m.dir, name)
}

// own says whose a socket (by path) or port (by number) is. A socket is this user's unless it says otherwise.
func (m *machine) own(what any, p local.Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners[fmt.Sprint(what)] = p
}

// link gives a socket another name.
func (m *machine) link(socket, name string) {
	m.t.Helper()
	if m.Network == nil && runtime.GOOS != "windows" {
		require.NoError(m.t, os.Symlink(socket, name))
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links[name] = socket
}

// remove removes a socket on which nobody listens any more. A pipe is gone with its listener.
func (m *machine) remove(path string) {
	m.t.Helper()
	switch {
	case m.Network == nil && runtime.GOOS == "windows":
		return
	case m.Network == nil:
		require.NoError(m.t, os.Remove(path))
		return
	}
	l, err := m.others.ReopenIPC(path)
	require.NoError(m.t, err)
	require.NoError(m.t, l.Close())
}

// appear is what a watcher of the folder would say.
func (m *machine) appear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.notify != nil {
		m.notify()
	}
}

// looked counts the looks at sockets so far: each is a wake-up.
func (m *machine) looked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks
}

func (m *machine) Sockets() (sockets []local.Socket, notes []health.Condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks++
	if m.Network == nil {
		return m.files()
	}
	all := m.Network.Sockets()
	for _, s := range all {
		if path.Dir(s.Path) == m.dir {
			sockets = append(sockets, s)
		}
		for name, to := range m.links {
			if to == s.Path {
				sockets = append(sockets, local.Socket{Path: name, ID: s.ID})
			}
		}
	}
	for i := range sockets {
		if m.windows {
			sockets[i].ID = ""
		}
	}
	slices.SortFunc(sockets, func(a, b local.Socket) int { return strings.Compare(a.Path, b.Path) })
	return sockets, nil
}

func (m *machine) Dial(ctx context.Context, path string) (conn net.Conn, owner local.Process, err error) {
	m.mu.Lock()
	to := cmp.Or(m.links[path], path)
	m.mu.Unlock()
	if m.Network == nil {
		conn, err = ipctest.Dial(ctx, to)
	} else {
		conn, owner, err = m.me.DialIPC(ctx, to)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if said, ok := m.owners[path]; ok {
		owner = said
		if owner.Denied && err == nil {
			return nil, owner, errors.Join(fs.ErrPermission, conn.Close())
		}
	} else if owner.UID == "" {
		owner.UID = m.user
	}
	return conn, owner, err
}

func (m *machine) Listeners(ports []int) (list []local.Listener, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Network == nil {
		return m.kernelsListeners(ports)
	}
	list = slices.DeleteFunc(m.Ports(ports), func(l local.Listener) bool { return slices.Contains(m.unlisted, l.Port) })
	for i, l := range list {
		if slices.Contains(m.hidden, l.Port) {
			list[i].Process = local.Process{UID: someUser}
		}
		if m.alike {
			list[i] = local.Listener{Port: l.Port, Process: local.Process{UID: someUser}}
		}
	}
	return list, nil
}

// kernelsListeners reads what Linux says of sockets.
func (m *machine) kernelsListeners(ports []int) ([]local.Listener, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.ErrUnsupported
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, err
	}
	var found []local.Listener
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		port, _ := strconv.ParseInt(hex, 16, 32)
		id, _ := strconv.ParseUint(f[9], 10, 64)
		if slices.Contains(ports, int(port)) {
			found = append(found, local.Listener{Port: int(port), ID: id, Process: local.Process{UID: m.owners[strconv.Itoa(int(port))].UID}})
		}
	}
	return found, nil
}

func (m *machine) HidesListeners() bool { return m.windows }

func (m *machine) Identify(listeners []local.Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, l := range listeners {
		if said, ok := m.owners[strconv.Itoa(l.Port)]; ok || m.Network == nil {
			listeners[i].Process = said
		}
	}
}

func (m *machine) LineageOf(pid int) local.Lineage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lineages[pid]
}

func (m *machine) Watch(ctx context.Context, notify func()) error {
	m.mu.Lock()
	m.notify = notify
	m.mu.Unlock()
	if m.Network == nil {
		<-ctx.Done()
		return nil
	}
	m.Network.Watch(ctx, notify)
	return nil
}

func (m *machine) User() string { return m.user }

// dialPort connects to a port of the machine.
func (m *machine) dialPort(ctx context.Context, port int) (net.Conn, error) {
	if m.Network == nil {
		return dialLoopback(ctx, port)
	}
	m.mu.Lock()
	m.dialled = append(m.dialled, port)
	m.mu.Unlock()
	conn, err := m.me.DialPort(ctx, port)
	if err != nil && m.windows {
		_ = signal.Sleep(ctx, 2*time.Second)
	}
	return conn, err
}

// listen binds a port; 0 is any.
func (m *machine) listen(port int) net.Listener {
	m.t.Helper()
	var l net.Listener
	var err error
	if m.Network == nil {
		l, err = net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	} else {
		l, _, err = m.others.ListenPort([]int{port})
	}
	require.NoError(m.t, err)
	return l
}

// freePorts returns n ports that nobody listens on, in rising order.
func (m *machine) freePorts(n int) (ports []int) {
	m.t.Helper()
	if m.Network != nil {
		for range n {
			m.freed++
			ports = append(ports, 40000+m.freed)
		}
		return ports
	}
	for range n {
		ports = append(ports, ipctest.Port(m.t))
	}
	slices.Sort(ports)
	return ports
}

// program starts one, in memory.
func (m *machine) program(pid int) *memnet.Process {
	return m.Process(local.Process{PID: pid, UID: someUser, Name: "Discord"})
}

// client starts a client in a process, in memory.
func (m *machine) client(p *memnet.Process, opts fakeserver.Options) *fakeserver.Server {
	m.t.Helper()
	opts.Network = p
	if opts.Ports == nil {
		opts.Ports = []int{6463}
	}
	return m.serve(opts)
}

// serve starts a client on any port, unless it is said which.
func (m *machine) serve(opts fakeserver.Options) *fakeserver.Server {
	m.t.Helper()
	if opts.Ports == nil {
		opts.Ports = []int{0}
	}
	if m.Network != nil && opts.Network == nil {
		opts.Network = m.others
	}
	opts.ClientIDs = []string{clientID}
	s, err := fakeserver.Start(opts)
	require.NoError(m.t, err)
	m.t.Cleanup(func() { s.Close() })
	return s
}
