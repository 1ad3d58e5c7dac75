// Package memnet is the loopback interface and the socket files of one machine, in memory. It
// serves tests in virtual time: whoever waits for a connection waits on a sync.Cond, so that the
// clock of a testing/synctest bubble goes on, which it never does over kernel sockets. Programs
// can be frozen and killed, which the kernel's sockets of one's own process cannot.
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

// Options say what a network is like. The zero value is one without delays.
type Options struct {
	Buffer  int // bytes that one direction of a connection holds; 0: 64 KiB
	Backlog int // connections that wait to be accepted; 0: 128
	// Delay says how long the nth of a series of events takes: the writes of one direction of a
	// connection, a connect, the news of socket files. nil: no time at all. Where it gives each event
	// an instant of its own, and depends on a seed only, it is virtual time that orders events and
	// never the scheduler.
	Delay func(series string, nth int) time.Duration
}

// Network is one machine. All of it is guarded by one lock, which nobody holds while waiting.
type Network struct {
	opts    Options
	started time.Time

	mu       sync.Mutex
	ports    map[int]*Listener
	files    map[string]*file
	ids      uint64 // given to listeners and files
	dialed   int    // ports given to who connects
	watchers map[*func()]struct{}
}

// A file is that of an IPC socket. It outlives a listener whose process is killed.
type file struct {
	id string
	ln *Listener // nil: nobody listens
}

// New returns a machine on which nothing runs.
func New(opts Options) *Network {
	if opts.Buffer == 0 {
		opts.Buffer = 64 << 10
	}
	if opts.Backlog == 0 {
		opts.Backlog = 128
	}
	return &Network{
		opts: opts, started: time.Now(), ports: make(map[int]*Listener), files: make(map[string]*file),
		watchers: make(map[*func()]struct{}),
	}
}

// Sockets lists the IPC sockets that have a file, by path.
func (n *Network) Sockets() []local.Socket {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []local.Socket
	for path, f := range n.files {
		if f.ln != nil && f.ln.hidden {
			continue
		}
		list = append(list, local.Socket{Path: path, ID: f.id})
	}
	slices.SortFunc(list, func(a, b local.Socket) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// Ports tells which of the ports have a listener, in the order given.
func (n *Network) Ports(ports []int) []local.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []local.Listener
	for _, port := range ports {
		if l := n.ports[port]; l != nil && !l.hidden {
			list = append(list, local.Listener{Port: port, ID: l.id, Process: l.owner.Process})
		}
	}
	return list
}

// Watch calls notify, which must not block, whenever a socket file has come or gone, until ctx ends.
func (n *Network) Watch(ctx context.Context, notify func()) {
	n.mu.Lock()
	n.watchers[&notify] = struct{}{}
	n.mu.Unlock()
	<-ctx.Done()
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.watchers, &notify)
}

// filesChanged tells those who watch. n.mu is held.
func (n *Network) filesChanged() {
	time.AfterFunc(n.delay(n.instant("files"), 1), func() {
		n.mu.Lock()
		var tell []func()
		for notify := range n.watchers {
			tell = append(tell, *notify)
		}
		n.mu.Unlock()
		for _, notify := range tell {
			notify()
		}
	})
}

// delay is that of the nth event of a series.
func (n *Network) delay(series string, nth int) time.Duration {
	if n.opts.Delay == nil {
		return 0
	}
	return n.opts.Delay(series, nth)
}

// instant names events by what they are and when they happen, so that one more or less changes
// nothing later, and it does not matter which of two that happen at once is the first.
func (n *Network) instant(what string) string {
	return fmt.Sprintf("%s at %v", what, time.Since(n.started))
}

// newID is one that nothing else has. n.mu is held.
func (n *Network) newID() uint64 {
	n.ids++
	return n.ids
}

func (n *Network) newFileID() string { return fmt.Sprintf("file %d", n.newID()) }
