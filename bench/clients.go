//go:build linux || windows

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sidetone/fakeserver"
)

// setup is which client a program finds, and the agent's settings for it.
type setup struct {
	transports []fakeserver.Transport // the agent's setting; the bare path takes the first
	socket     bool                   // the client is a desktop client, with an IPC socket; else it follows the specification
}

var (
	overWebSocket = setup{[]fakeserver.Transport{fakeserver.WebSocket}, false}
	overIPC       = setup{[]fakeserver.Transport{fakeserver.IPC, fakeserver.WebSocket, fakeserver.HTTP}, true}
)

func (s setup) over() fakeserver.Transport { return s.transports[0] }

// place is where the client of one program listens, and no other.
type place struct {
	setup
	folder string // for IPC sockets
	client *fakeserver.Server
	last   fakeserver.Payload // that was looked at
}

// open starts the client.
func (s setup) open(dir string) (*place, error) {
	folder, err := socketFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("make a folder for sockets: %w", err)
	}
	o := fakeserver.Options{Ports: []int{0}}
	if s.socket {
		o.Profile, o.IPCDir = fakeserver.Desktop, folder
	}
	p := &place{setup: s, folder: folder}
	if p.client, err = fakeserver.Start(o); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *place) close() error {
	if p.client != nil {
		_ = p.client.Close() // has no error
	}
	return os.RemoveAll(p.folder)
}

// settings returns the agent's settings as environment variables. It must not find the user's own clients.
func (p *place) settings() []string {
	var transports []string
	for _, t := range p.transports {
		transports = append(transports, string(t))
	}
	return []string{
		fmt.Sprintf("SIDETONE_RPC_PORTS=%d", p.client.Port()),
		"SIDETONE_RPC_IPC_FOLDERS=" + p.folder,
		"SIDETONE_RPC_TRANSPORTS=" + strings.Join(transports, ","),
		"SIDETONE_CONTROL_SOCKET=" + p.folder + controlName,
		"XDG_RUNTIME_DIR=" + p.folder, // several agents of one application run at once
		"XDG_STATE_HOME=" + p.folder,  // and none may know a client from before
	}
}

func (p *place) address(over fakeserver.Transport) string {
	if over == fakeserver.IPC {
		return p.client.IPCPath()
	}
	return fmt.Sprintf("127.0.0.1:%d", p.client.Port())
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
