package app

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"

	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
)

// sockets lets the rpcclient see this machine's sockets through the platform.
type sockets struct {
	folders string // of IPC sockets, as a list of the system's kind, which can be compared
	log     *slog.Logger
}

func newSockets(folders []string, log *slog.Logger) sockets {
	return sockets{folders: strings.Join(folders, string(filepath.ListSeparator)), log: log}
}

func (s sockets) list() []string { return filepath.SplitList(s.folders) }

func (s sockets) Sockets() ([]rpcclient.Socket, []string) {
	found, notes := platform.IPCSockets(s.list())
	list := make([]rpcclient.Socket, len(found))
	for i, f := range found {
		list[i] = rpcclient.Socket(f)
	}
	return list, notes
}

func (s sockets) Dial(ctx context.Context, path string) (net.Conn, rpcclient.Process, error) {
	conn, owner, err := platform.DialIPC(ctx, path)
	return conn, rpcclient.Process(owner), err
}

func (s sockets) Listeners(ports []int) ([]rpcclient.Listener, error) {
	found, err := platform.Listeners(ports)
	list := make([]rpcclient.Listener, len(found))
	for i, f := range found {
		list[i] = rpcclient.Listener{Port: f.Port, ID: f.ID, Process: rpcclient.Process(f.Process)}
	}
	return list, err
}

func (s sockets) Identify(list []rpcclient.Listener) {
	found := make([]platform.Listener, len(list))
	for i, f := range list {
		found[i] = platform.Listener{Port: f.Port, ID: f.ID, Process: platform.Process(f.Process)}
	}
	platform.Identify(found)
	for i, f := range found {
		list[i].Process = rpcclient.Process(f.Process)
	}
}

func (s sockets) LineageOf(pid int) rpcclient.Lineage {
	return rpcclient.Lineage(platform.LineageOf(pid))
}

func (s sockets) Watch(ctx context.Context, notify func()) error {
	return platform.WatchIPC(ctx, s.list(), s.log, notify)
}

func (s sockets) User() string { return platform.CurrentUser() }
