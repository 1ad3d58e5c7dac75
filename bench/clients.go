//go:build linux || windows

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sidetone/fakeserver"
)

// setup is which clients a program finds, and the agent's settings for them.
type setup struct {
	transports []fakeserver.Transport // the agent's setting; the bare path takes the first
	clients    int
	options    fakeserver.Options // of each client; the bench chooses the port and the folder
	socket     bool               // each client has an IPC socket
}

var (
	overWebSocket = setup{transports: []fakeserver.Transport{fakeserver.WebSocket}, clients: 1}
	overIPC       = setup{
		transports: []fakeserver.Transport{fakeserver.IPC, fakeserver.WebSocket, fakeserver.HTTP}, clients: 1,
		options: fakeserver.Options{Profile: fakeserver.Desktop}, socket: true,
	}
)

// place is where the clients of one program listen, and no others.
type place struct {
	setup
	folder  string // for IPC sockets
	clients []*client
}

type client struct {
	*fakeserver.Server
	last fakeserver.Payload // that was looked at
}

// open starts the clients.
func (s setup) open(dir string) (*place, error) {
	folder, err := socketFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("make a folder for sockets: %w", err)
	}
	p := &place{setup: s, folder: folder}
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

// settings returns the agent's settings as environment variables. It must not find the user's own clients.
func (p *place) settings() []string {
	var ports, transports []string
	for _, c := range p.clients {
		ports = append(ports, fmt.Sprint(c.Port()))
	}
	for _, t := range p.transports {
		transports = append(transports, string(t))
	}
	env := []string{
		"SIDETONE_RPC_PORTS=" + strings.Join(ports, ","),
		"SIDETONE_RPC_IPC_FOLDERS=" + p.folder,
		"SIDETONE_RPC_TRANSPORTS=" + strings.Join(transports, ","),
		"SIDETONE_CONTROL_SOCKET=" + p.controlSocket(),
		"XDG_RUNTIME_DIR=" + p.folder, // several agents of one application run at once
		"XDG_STATE_HOME=" + p.folder,  // and none may know a client from before
	}
	if p.options.Refill > 0 {
		env = append(env, "SIDETONE_RPC_TOKEN_EVERY="+p.options.Refill.String())
	}
	return env
}

func (p *place) controlSocket() string { return p.folder + controlName }

func (c *client) address(over fakeserver.Transport) string {
	if over == fakeserver.IPC {
		return c.IPCPath()
	}
	return fmt.Sprintf("127.0.0.1:%d", c.Port())
}

func lists(p fakeserver.Payload) bool { return len(p.Devices) > 1 }

func mutes(p fakeserver.Payload, mute bool) bool {
	for _, d := range p.Devices {
		if d.HardwareMute != nil {
			return *d.HardwareMute == mute
		}
	}
	return false
}
