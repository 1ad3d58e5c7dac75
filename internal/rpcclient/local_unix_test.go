//go:build unix

package rpcclient

import (
	"fmt"
	"net"
	"os"

	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/testlab/ipctest"
)

func (m *machine) files() (sockets []local.Socket, notes []health.Condition) {
	for i := range 10 {
		path := m.socket(i)
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSocket == 0:
			notes = append(notes, health.Explained(path+" is no socket")...)
		default:
			sockets = append(sockets, local.Socket{Path: path, ID: fmt.Sprint(info.ModTime().UnixNano())})
		}
	}
	return sockets, notes
}

// listenFile listens on a socket. The end of its process leaves the socket's file.
func listenFile(path string) (l net.Listener, kill func(), err error) {
	l, err = ipctest.Listen(path)
	return l, func() {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
	}, err
}
