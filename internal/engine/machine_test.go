package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/testlab/ipctest"
)

// user is whose the agent and all clients are.
const user = "1000"

// actor is a program that plays a client, or stands where one might be. Each of its lives is
// another process.
type actor struct {
	*fakeserver.Server
	name    string
	profile fakeserver.Profile
	ports   []int // on which it may listen
	away    bool

	pid          int
	socket, port uint64 // which opening of its IPC socket and its port; 0: closed
	lives        []life // the last is the present one
}

// life is what the inspection of an actor's payloads has to know of one of its lives.
type life struct {
	since   int  // the number of payloads before it
	chances int  // how often the agent may try anew what was not answered
	waited  int  // requests that had waited in line before it
	hurt    bool // it has misbehaved, and so may have been given up
	inherit bool // an earlier agent has talked to it: its bucket may not be full
}

// able reports whether the actor is a client that can know the truth.
func (a *actor) able() bool {
	return slices.Contains([]fakeserver.Profile{fakeserver.Documented, fakeserver.Desktop, fakeserver.Flaky}, a.profile)
}

func (a *actor) life() *life { return &a.lives[len(a.lives)-1] }

func (a *actor) begins(pid int) {
	a.pid = pid
	st := a.Stats()
	hurt := a.profile == fakeserver.Flaky || a.Fault().Kind != fakeserver.FaultNone
	a.lives = append(a.lives, life{since: st.Payloads, chances: 1, waited: st.Waited, hurt: hurt})
}

// machine is the rpcclient's view of the machine on which the actors live. Their sockets and
// ports are real; which process owns one, and which opening of it this is, the machine knows
// from its own doings.
type machine struct {
	dir string // of IPC sockets

	mu     sync.RWMutex // held by what changes the actors, so that nobody sees half of a change
	actors []*actor
	pids   int
	opened uint64
	notify func()
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	return &machine{dir: ipctest.Folder(t), notify: func() {}}
}

// start begins the first life of a new actor.
func (m *machine) start(t *testing.T, name string, opts fakeserver.Options) *actor {
	t.Helper()
	opts.IPCDir = m.dir
	server, err := fakeserver.Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() { server.Close() })
	a := &actor{Server: server, name: name, profile: opts.Profile, ports: opts.Ports}
	m.change(a, func() {
		m.actors = append(m.actors, a)
		a.begins(m.nextPID())
	})
	return a
}

// nextPID is called with mu held.
func (m *machine) nextPID() int {
	m.pids++
	return 1000 + m.pids
}

// change does f and takes note of what it has opened and closed. A watcher of the sockets'
// folder hears of it; of a port nobody tells.
func (m *machine) change(a *actor, f func()) {
	m.mu.Lock()
	pid := a.pid
	f()
	fault := a.Fault()
	refuses := fault.Kind == fakeserver.FaultRefuse
	m.door(a, &a.port, pid, !a.away && (!refuses || fault.Transport != ""))
	changed := m.door(a, &a.socket, pid, !a.away && !refuses && a.IPCPath() != "")
	notify := m.notify
	m.mu.Unlock()
	if changed {
		notify()
	}
}

// door reports whether the door has changed. One that opens within a life may be the way that
// was missing: that is another chance.
func (m *machine) door(a *actor, which *uint64, before int, open bool) (changed bool) {
	was := *which
	switch {
	case !open:
		*which = 0
	case was == 0 || a.pid != before:
		m.opened++
		*which = m.opened
	}
	if *which != was && open && a.pid == before {
		a.life().chances++
	}
	return *which != was
}

// restarts ends the present life of an actor and begins the next, on the first of the ports
// that is free.
func (m *machine) restarts(t *testing.T, a *actor, ports ...int) {
	t.Helper()
	var err error
	m.change(a, func() { err = m.another(a, ports) })
	require.NoError(t, err)
}

// another is called with mu held. If there was no pause, what the agent meant for the life before
// may reach this one, which then is found once more: that is another chance.
func (m *machine) another(a *actor, ports []int) error {
	a.Stop()
	a.begins(m.nextPID())
	if !a.away {
		a.life().chances++
	}
	a.away = false
	return a.Resume(ports...)
}

func (m *machine) goes(a *actor) {
	m.change(a, func() {
		a.Stop()
		a.away = true
	})
}

// suffers makes a fault the one that is active. A client that cannot open its doors again,
// because another one has taken its place, has to restart.
func (m *machine) suffers(t *testing.T, a *actor, f fakeserver.Fault) {
	t.Helper()
	var err error
	m.change(a, func() {
		a.life().hurt = a.life().hurt || f.Kind != fakeserver.FaultNone
		if err = a.SetFault(f); errors.Is(err, syscall.EADDRINUSE) {
			err = m.another(a, a.ports)
		}
	})
	require.NoError(t, err)
}

// chance notes that the agent may try anew what an actor has not answered.
func (m *machine) chance(actors ...*actor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range actors {
		a.life().chances++
	}
}

// Sockets is part of rpcclient.Local.
func (m *machine) Sockets() (sockets []local.Socket, notes []health.Condition) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, a := range m.actors {
		if a.socket != 0 {
			sockets = append(sockets, local.Socket{Path: a.IPCPath(), ID: fmt.Sprint(a.socket)})
		}
	}
	slices.SortFunc(sockets, func(a, b local.Socket) int { return strings.Compare(a.Path, b.Path) })
	return sockets, nil
}

// Dial is part of rpcclient.Local.
func (m *machine) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	conn, err := ipctest.Dial(ctx, path)
	if err != nil {
		return nil, local.Process{}, err
	}
	for _, a := range m.actors {
		if a.socket != 0 && a.IPCPath() == path {
			return conn, a.process(), nil
		}
	}
	return nil, local.Process{}, errors.Join(fmt.Errorf("%s belongs to nobody", path), conn.Close())
}

// Listeners is part of rpcclient.Local.
func (m *machine) Listeners(ports []int) (listeners []local.Listener, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, a := range m.actors {
		if a.port != 0 && slices.Contains(ports, a.Port()) {
			listeners = append(listeners, local.Listener{Port: a.Port(), ID: a.port, Process: local.Process{UID: user}})
		}
	}
	return listeners, nil
}

// HidesListeners is part of rpcclient.Local.
func (m *machine) HidesListeners() bool { return false }

// Identify is part of rpcclient.Local.
func (m *machine) Identify(listeners []local.Listener) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, l := range listeners {
		for _, a := range m.actors {
			if a.port == l.ID {
				listeners[i].Process = a.process()
			}
		}
	}
}

func (a *actor) process() local.Process {
	return local.Process{PID: a.pid, UID: user, Name: a.name}
}

// LineageOf is part of rpcclient.Local.
func (m *machine) LineageOf(int) local.Lineage { return local.Lineage{} }

// Watch is part of rpcclient.Local.
func (m *machine) Watch(ctx context.Context, notify func()) error {
	m.mu.Lock()
	m.notify = notify
	m.mu.Unlock()
	<-ctx.Done()
	return nil
}

// User is part of rpcclient.Local.
func (m *machine) User() string { return user }

// freePorts returns n ports that nobody listens on.
func freePorts(t *testing.T, n int) (free []int) {
	t.Helper()
	for range n {
		free = append(free, ipctest.Port(t))
	}
	return free
}
