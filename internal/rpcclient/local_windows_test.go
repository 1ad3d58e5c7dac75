package rpcclient

import (
	"net"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/winpipe"
)

func (m *machine) files() (sockets []local.Socket, notes []health.Condition) {
	for i := range 10 {
		path := m.socket(i)
		if to := m.links[path]; winpipe.Exists(path) || to != "" && winpipe.Exists(to) {
			sockets = append(sockets, local.Socket{Path: path})
		}
	}
	return sockets, nil
}

// listenFile listens on a pipe. The end of its process ends the pipe.
func listenFile(path string) (l net.Listener, kill func(), err error) {
	l, err = ipctest.Listen(path)
	return l, func() { l.Close() }, err
}
