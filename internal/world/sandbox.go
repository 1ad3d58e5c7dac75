package world

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"sidetone/internal/local"
	"sidetone/internal/memnet"
)

// sandboxDir is where clients in the sandbox listen. The agent does not see it.
const sandboxDir = "/sandbox"

// sandbox is a relay whose socket leads to the client that runs in the sandbox. The relay outlives that, and leads to the next one then.
type sandbox struct {
	*memnet.Process

	ended time.Time // when a client in the sandbox last ended

	mu       sync.Mutex
	deserted time.Time // when the relay last had a connection and nobody to lead to; guarded by mu
}

// relayPID is the PID of the relay.
const relayPID = 3

// newSandbox starts the relay. It serves until its process is killed.
func newSandbox(n *memnet.Network) *sandbox {
	b := &sandbox{Process: n.Process(local.Process{PID: relayPID, UID: myUser, Name: "relay"})}
	ln, _, err := b.ListenIPC(socketDir)
	if err != nil {
		panic(err) // it is the first one
	}
	go func() {
		for {
			near, err := ln.Accept()
			if err != nil {
				return
			}
			go b.forward(near)
		}
	}()
	return b
}

// forward leads a connection to the client that runs, or closes it.
func (b *sandbox) forward(near net.Conn) {
	far, _, err := b.DialIPC(context.Background(), sandboxDir+"/discord-ipc-0")
	if err != nil {
		b.mu.Lock()
		b.deserted = time.Now()
		b.mu.Unlock()
		_ = near.Close()
		return
	}
	go pipe(far, near)
	pipe(near, far)
}

// pipe copies until one of the connections ends, and closes both.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = to.Close(), from.Close()
}

// folder returns where the client opens its socket.
func (k *client) folder() string {
	if k.Sandboxed {
		return sandboxDir
	}
	return socketDir
}

// leaveSandbox ends the client that runs where k is to run.
func (k *client) leaveSandbox() {
	for _, o := range k.desk.all {
		if o != k && o.on && o.Sandboxed && k.Sandboxed {
			o.end(false)
		}
	}
}

// seemsRestarted reports whether the agent has noticed that the client in the sandbox is not the program that ran there before: nothing
// shows that but a connection while there is none.
func (k *client) seemsRestarted() bool {
	b := k.desk.sandbox
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended.IsZero() || b.deserted.After(b.ended) && b.deserted.Before(k.openedAt)
}
