package main

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
)

// local lets the rpcclient see this machine's sockets through the platform.
type local struct {
	folders string // of IPC sockets, as a list of the system's kind, which can be compared
	log     *slog.Logger
}

func newLocal(folders []string) local {
	return local{folders: strings.Join(folders, string(filepath.ListSeparator)), log: slog.Default()}
}

func (l local) list() []string { return filepath.SplitList(l.folders) }

func (l local) Sockets() ([]rpcclient.Socket, []string) {
	found, notes := platform.IPCSockets(l.list())
	sockets := make([]rpcclient.Socket, len(found))
	for i, s := range found {
		sockets[i] = rpcclient.Socket(s)
	}
	return sockets, notes
}

func (l local) Dial(ctx context.Context, path string) (net.Conn, rpcclient.Process, error) {
	conn, owner, err := platform.DialIPC(ctx, path)
	return conn, rpcclient.Process(owner), err
}

func (l local) Listeners(ports []int) ([]rpcclient.Listener, error) {
	found, err := platform.Listeners(ports)
	list := make([]rpcclient.Listener, len(found))
	for i, f := range found {
		list[i] = rpcclient.Listener{Port: f.Port, ID: f.ID, Process: rpcclient.Process(f.Process)}
	}
	return list, err
}

func (l local) Identify(list []rpcclient.Listener) {
	found := make([]platform.Listener, len(list))
	for i, f := range list {
		found[i] = platform.Listener{Port: f.Port, ID: f.ID, Process: platform.Process(f.Process)}
	}
	platform.Identify(found)
	for i, f := range found {
		list[i].Process = rpcclient.Process(f.Process)
	}
}

func (l local) LineageOf(pid int) rpcclient.Lineage {
	return rpcclient.Lineage(platform.LineageOf(pid))
}

func (l local) Watch(ctx context.Context, notify func()) error {
	return platform.WatchIPC(ctx, l.list(), l.log, notify)
}

func (l local) User() string { return platform.CurrentUser() }
