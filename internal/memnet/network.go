// Package memnet simulates the loopback interface and the socket files of one machine in memory, for
// tests in virtual time: blocked calls wait on a sync.Cond, so that the clock of a testing/synctest
// bubble advances, which it does not for kernel sockets. Simulated processes can be frozen and killed.
package memnet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/internal/local"
)

// Options configure a Network. The zero value has no delays.
type Options struct {
	Buffer  int // bytes that one direction of a connection holds; 0: 64 KiB
	Backlog int // connections that wait to be accepted; 0: 128
	// Delay returns how long the nth event of a series takes. Series are the writes in one direction of a
	// connection, connects, and notifications of socket files. nil: no time. If it depends only on a seed and
	// gives each event a distinct instant, virtual time orders all events, and never the scheduler.
	Delay func(series string, nth int) time.Duration
}

// Network is the network of one machine. A single lock guards all of it, with its processes, listeners and connections.
type Network struct {
	opts    Options
	started time.Time

	mu       sync.Mutex
	changed  *sync.Cond // signalled when lock's function unlocks mu, and by Conn.take, so that blocked calls look again
	ports    map[int]*Listener
	files    map[string]*file
	ids      uint64 // how many ids were given to listeners and files
	dialed   int    // how many ports were given to connecting processes
	watchers map[*func()]struct{}
}

// A file is the file of an IPC socket. It outlives a listener whose process is killed.
type file struct {
	id string
	ln *Listener // nil: none
}

// New returns a network without processes.
func New(opts Options) *Network {
	if opts.Buffer == 0 {
		opts.Buffer = 64 << 10
	}
	if opts.Backlog == 0 {
		opts.Backlog = 128
	}
	n := &Network{
		opts: opts, started: time.Now(), ports: make(map[int]*Listener), files: make(map[string]*file),
		watchers: make(map[*func()]struct{}),
	}
	n.changed = sync.NewCond(&n.mu)
	return n
}

// lock locks the network, and returns the function that unlocks it.
func (n *Network) lock() func() {
	n.mu.Lock()
	return func() {
		n.changed.Broadcast()
		n.mu.Unlock()
	}
}

// wake makes blocked calls look again.
func (n *Network) wake() { n.lock()() }

// Sockets lists the IPC sockets that have a file, by path.
func (n *Network) Sockets() []local.Socket {
	defer n.lock()()
	var list []local.Socket
	for path, f := range n.files {
		if f.ln == nil || !f.ln.hidden {
			list = append(list, local.Socket{Path: path, ID: f.id})
		}
	}
	slices.SortFunc(list, func(a, b local.Socket) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Ports returns the listeners on the given ports, in the order given.
func (n *Network) Ports(ports []int) []local.Listener {
	defer n.lock()()
	var list []local.Listener
	for _, port := range ports {
		if l := n.ports[port]; l != nil && !l.hidden {
			list = append(list, local.Listener{Port: port, ID: l.id, Process: l.owner.Process})
		}
	}
	return list
}

// Watch calls notify whenever a socket file appears or disappears, until ctx ends. notify must not block or use the network.
func (n *Network) Watch(ctx context.Context, notify func()) {
	n.mu.Lock()
	n.watchers[&notify] = struct{}{}
	n.mu.Unlock()
	<-ctx.Done()
	defer n.lock()()
	delete(n.watchers, &notify)
}

// filesChanged notifies the watchers. n.mu must be held.
func (n *Network) filesChanged() {
	time.AfterFunc(n.delay(n.instant("files"), 1), func() {
		defer n.lock()()
		for notify := range n.watchers {
			(*notify)()
		}
	})
}

// delay returns the delay of the nth event of a series.
func (n *Network) delay(series string, nth int) time.Duration {
	if n.opts.Delay == nil {
		return 0
	}
	return n.opts.Delay(series, nth)
}

// instant names a series by kind and time. So an additional event does not change later delays, and the order
// of simultaneous events does not matter.
func (n *Network) instant(what string) string {
	return fmt.Sprintf("%s at %v", what, time.Since(n.started))
}

// newID returns a unique id. n.mu must be held.
func (n *Network) newID() uint64 {
	n.ids++
	return n.ids
}
