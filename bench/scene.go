//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sidetone/fakeserver"
)

// scene says which clients a program finds, and what the agent is told of them.
type scene struct {
	transports []fakeserver.Transport // the agent's setting; the bare path takes the first
	clients    int
	options    fakeserver.Options // of each client; the bench chooses the port and the folder
	socket     bool               // each has an IPC socket
}

var (
	overWebSocket = scene{transports: []fakeserver.Transport{fakeserver.WebSocket}, clients: 1}
	overIPC       = scene{
		transports: []fakeserver.Transport{fakeserver.IPC, fakeserver.WebSocket, fakeserver.HTTP}, clients: 1,
		options: fakeserver.Options{Profile: fakeserver.Desktop}, socket: true,
	}
)

// overHTTP is the client that users run with nothing but its port, and with a bucket that
// gets a token in each refill.
func overHTTP(refill time.Duration) scene {
	return scene{
		transports: []fakeserver.Transport{fakeserver.HTTP}, clients: 1,
		options: fakeserver.Options{Profile: fakeserver.Desktop, Refill: refill},
	}
}

// place is where the clients of one program listen, and nobody else's.
type place struct {
	folder  string // for IPC sockets
	clients []*client
}

// client is a stand-in client, and how much of what it got was looked at.
type client struct {
	*fakeserver.Server
	last fakeserver.Payload // the last that was looked at
}

// open starts the clients.
func (s scene) open(dir string) (*place, error) {
	folder, err := os.MkdirTemp(dir, "ipc")
	if err != nil {
		return nil, fmt.Errorf("make a folder for sockets: %w", err)
	}
	p := &place{folder: folder}
	for range s.clients {
		o := s.options
		o.Ports = []int{0}
		if s.socket {
			o.IPCDir = folder
		}
		server, err := fakeserver.Start(o)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.clients = append(p.clients, &client{Server: server})
	}
	return p, nil
}

func (p *place) close() error {
	for _, c := range p.clients {
		_ = c.Close() // has no error
	}
	return os.RemoveAll(p.folder)
}

// settings are the agent's, as environment. It must not find the clients of people.
func (s scene) settings(p *place) []string {
	var ports, transports []string
	for _, c := range p.clients {
		ports = append(ports, fmt.Sprint(c.Port()))
	}
	for _, t := range s.transports {
		transports = append(transports, string(t))
	}
	env := []string{
		"SIDETONE_RPC_PORTS=" + strings.Join(ports, ","),
		"SIDETONE_RPC_IPC_FOLDERS=" + p.folder,
		"SIDETONE_RPC_TRANSPORTS=" + strings.Join(transports, ","),
		"SIDETONE_CONTROL_SOCKET=" + filepath.Join(p.folder, "agent.sock"),
		"XDG_RUNTIME_DIR=" + p.folder, // several agents run at once, each for the same application
	}
	if s.options.Refill > 0 {
		env = append(env, "SIDETONE_RPC_TOKEN_EVERY="+s.options.Refill.String())
	}
	return env
}

// address is what wireTo needs.
func (c *client) address(over fakeserver.Transport) string {
	if over == fakeserver.IPC {
		return c.IPCPath()
	}
	return fmt.Sprintf("127.0.0.1:%d", c.Port())
}
