//go:build linux

package main

import (
	"context"
	"log/slog"
	"net"

	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
)

// thisMachine lets the rpcclient see this machine's sockets, as the agent does.
type thisMachine struct {
	folders []string // of IPC sockets
	log     *slog.Logger
}

func (m thisMachine) Sockets() ([]rpcclient.Socket, []string) {
	found, notes := platform.IPCSockets(m.folders)
	sockets := make([]rpcclient.Socket, len(found))
	for i, s := range found {
		sockets[i] = rpcclient.Socket(s)
	}
	return sockets, notes
}

func (m thisMachine) Dial(ctx context.Context, path string) (net.Conn, rpcclient.Process, error) {
	conn, owner, err := platform.DialIPC(ctx, path)
	return conn, rpcclient.Process(owner), err
}

func (m thisMachine) Listeners(ports []int) ([]rpcclient.Listener, error) {
	found, err := platform.Listeners(ports)
	list := make([]rpcclient.Listener, len(found))
	for i, f := range found {
		list[i] = rpcclient.Listener{Port: f.Port, ID: f.ID, Process: rpcclient.Process(f.Process)}
	}
	return list, err
}

func (m thisMachine) Identify([]rpcclient.Listener) {} // names are for people

func (m thisMachine) LineageOf(pid int) rpcclient.Lineage {
	return rpcclient.Lineage(platform.LineageOf(pid))
}

func (m thisMachine) Watch(ctx context.Context, notify func()) error {
	return platform.WatchIPC(ctx, m.folders, m.log, notify)
}

func (m thisMachine) User() string { return platform.CurrentUser() }
