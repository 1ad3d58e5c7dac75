package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"sidetone/internal/health"
	"sidetone/internal/local"
)

// view is the agent's rpcclient.Local. It shows as much of the machine as the visibility allows.
type view struct {
	*clients
	visibility visibility
}

func (l *view) Sockets() ([]local.Socket, []health.Condition) {
	outside := func(s local.Socket) bool { return strings.HasPrefix(s.Path, sandboxDir) }
	return slices.DeleteFunc(l.net.Sockets(), outside), nil
}

func (l *view) Dial(ctx context.Context, path string) (net.Conn, local.Process, error) {
	conn, owner, err := l.agent.DialIPC(ctx, path)
	who := l.shown(owner)
	if !l.visibility.ports() { // a named pipe shows the process of its server
		who.PID, who.Name = owner.PID, owner.Name
	}
	return conn, who, err
}

// ports reports whether the OS shows ports and the users of their owners.
func (s visibility) ports() bool { return s == seesAll || s == seesUsers }

// hidden is the name of programs whose process the OS does not show.
const hidden = "hidden"

func (l *view) shown(o local.Process) local.Process {
	if o.Name == hidden || l.visibility != seesAll {
		return local.Process{UID: o.UID}
	}
	return o
}

func (l *view) Listeners(ports []int) ([]local.Listener, error) {
	if !l.visibility.ports() {
		return nil, errors.ErrUnsupported
	}
	var list []local.Listener
	for _, p := range l.net.Ports(ports) {
		list = append(list, local.Listener{Port: p.Port, ID: p.ID, Process: local.Process{UID: p.UID}})
	}
	return list, nil
}

func (l *view) HidesListeners() bool { return false }

func (l *view) Identify(list []local.Listener) {
	if !l.visibility.ports() {
		return
	}
	for i, known := range list {
		for _, p := range l.net.Ports([]int{known.Port}) {
			list[i].Process = l.shown(p.Process)
		}
	}
}

// LineageOf says that a relay, which holds a client's port, was started by the client, or by the script that has started both in one
// scope. The user's panel has started everything else.
func (l *view) LineageOf(pid int) local.Lineage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.visibility == seesAll {
		if pid == relayPID {
			return local.Lineage{Exe: "sandbox", Parents: []int{panel, 1}}
		}
		for _, k := range l.all {
			switch {
			case k.process == nil || k.Hidden:
			case k.Sibling && k.process.PID == pid:
				return k.sibling(k.process.Name)
			case k.Sibling && k.relay.PID == pid:
				return k.sibling("relay")
			case k.process.PID == pid:
				return local.Lineage{Exe: k.process.Name, Parents: []int{panel, 1}}
			case k.relay.PID == pid:
				return local.Lineage{Exe: "relay", Parents: []int{k.process.PID, panel, 1}}
			}
		}
	}
	return local.Lineage{}
}

// panel is the PID of the user's panel.
const panel = 2

// sibling is the lineage of a client that one script has started beside its relay, or of that relay.
func (k *client) sibling(exe string) local.Lineage {
	script := k.process.PID + 1_000_000
	return local.Lineage{
		Exe: exe, Parents: []int{script, panel, 1}, Starters: []int{script}, Bundle: fmt.Sprintf("app-client-%d.scope", script),
	}
}

func (l *view) Watch(ctx context.Context, notify func()) error {
	if l.visibility == seesNothing {
		return errors.ErrUnsupported
	}
	l.net.Watch(ctx, notify)
	return ctx.Err()
}

func (l *view) User() string { return myUser }

// The users of the machine.
const (
	myUser    = "1000"
	otherUser = "1001"
)
