package world

import (
	"context"
	"errors"
	"net"

	"sidetone/internal/memnet"
	"sidetone/internal/rpcclient"
)

// local lets the agent's process see the sockets of the machine.
type local struct {
	*clients
	sight Sight
}

func (l *local) Sockets() ([]rpcclient.Socket, []string) {
	var list []rpcclient.Socket
	for _, s := range l.net.Sockets() {
		list = append(list, rpcclient.Socket(s))
	}
	return list, nil
}

func (l *local) Dial(ctx context.Context, path string) (net.Conn, rpcclient.Process, error) {
	conn, owner, err := l.agent.DialIPC(ctx, path)
	who := l.shown(owner)
	if !l.sight.ports() { // a pipe tells the process of its server
		who.PID, who.Name = owner.PID, owner.Name
	}
	return conn, who, err
}

// ports reports whether the OS tells whose a port is.
func (s Sight) ports() bool { return s == SeesAll || s == SeesUsers }

// hidden is the name of a program of which nobody is told the process.
const hidden = "hidden"

func (l *local) shown(o memnet.Owner) rpcclient.Process {
	if o.Name == hidden || l.sight != SeesAll {
		return rpcclient.Process{UID: o.UID}
	}
	return rpcclient.Process(o)
}

func (l *local) Listeners(ports []int) ([]rpcclient.Listener, error) {
	if !l.sight.ports() {
		return nil, errors.ErrUnsupported
	}
	var list []rpcclient.Listener
	for _, p := range l.net.Ports(ports) {
		list = append(list, rpcclient.Listener{Port: p.Port, ID: p.ID, Process: rpcclient.Process{UID: p.Owner.UID}})
	}
	return list, nil
}

func (l *local) Identify(list []rpcclient.Listener) {
	if !l.sight.ports() {
		return
	}
	for i, known := range list {
		for _, p := range l.net.Ports([]int{known.Port}) {
			list[i].Process = l.shown(p.Owner)
		}
	}
}

// LineageOf says that what holds a client's port for it was started by it.
func (l *local) LineageOf(pid int) rpcclient.Lineage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sight == SeesAll {
		for _, k := range l.all {
			switch {
			case k.process == nil || k.Hidden:
			case k.process.PID == pid:
				return rpcclient.Lineage{Exe: k.process.Name, Parents: []int{1}}
			case k.relay.PID == pid:
				return rpcclient.Lineage{Exe: "relay", Parents: []int{k.process.PID, 1}}
			}
		}
	}
	return rpcclient.Lineage{}
}

func (l *local) Watch(ctx context.Context, notify func()) error {
	if l.sight == SeesNothing {
		return errors.ErrUnsupported
	}
	l.net.Watch(ctx, notify)
	return ctx.Err()
}

func (l *local) User() string { return myUser }

// The users of the machine.
const (
	myUser    = "1000"
	otherUser = "1001"
)
