package fakeserver

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/signal"
)

// ErrClosed is returned by calls on a server that was closed.
var ErrClosed = errors.New("the fake server is closed")

// A Server stands in for one client. Its methods may be called from any
// goroutine.
type Server struct {
	opts    Options
	log     *slog.Logger
	started time.Time

	lifecycle sync.Mutex // held while the server starts, stops, or opens and closes its listeners
	run       *run       // nil when stopped; written under lifecycle and mu

	limiter *limiter
	frozen  atomic.Pointer[chan struct{}] // closed by thaw; nil when not frozen
	changed signal.Broadcast

	order sync.Mutex // one payload is judged, recorded and reported at a time

	mu         sync.Mutex
	port       int
	ipcPath    string // of the socket or pipe; "" if there is none
	closed     bool
	fault      Fault // with Times counted down
	sinceClose int   // payloads since FaultCloseAfter last closed a connection
	rng        rng   // for [Flaky]
	record     record
	store      store
	known      registry
	cached     map[string]bool // applications that were looked up in this run
	stats      Stats           // Connections, Ready, Payloads and the limiter's counts are filled in by Stats
}

// Stats are the counters of a server since Start; restarts do not reset them.
type Stats struct {
	Connections int // open now, of any transport
	Ready       int // WebSockets and IPC connections open now to which READY was sent
	Accepted    int // connections ever accepted
	Handshakes  int // IPC handshakes ever received
	Probes      int // HTTP requests that carried no payload
	Payloads    int // payloads ever received
	Rejected    int // payloads that were not taken
	Faults      int // times a fault was applied
	Queued      int // requests and connects that now wait for a token
	Waited      int // requests and connects that ever had to wait
	Spent       int // tokens ever spent
}

// Start opens a port and an IPC socket, as the options say, and serves on them.
// The error says which option is invalid, what could not be opened or which
// state file cannot be used.
func Start(opts Options) (*Server, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("fake server: %w", err)
	}
	s := &Server{opts: opts, log: opts.Logger, started: time.Now(), fault: opts.Fault}
	s.record.limit = opts.KeepPayloads
	s.rng = newRNG(opts.Seed)
	s.limiter = newLimiter(opts.Bucket, opts.Refill, s.changed.Notify)
	if opts.StateFile != "" {
		if s.store, err = loadState(opts.StateFile); err != nil {
			return nil, fmt.Errorf("fake server: %w", err)
		}
	}
	s.known = s.store.registry()
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if err := s.begin(opts.Ports); err != nil {
		return nil, err
	}
	return s, nil
}

// begin starts a run on the first free port. lifecycle is held.
func (s *Server) begin(ports []int) error {
	r := newRun(s)
	listeners, port, path, err := s.open(ports)
	if err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.mu.Lock()
	s.run, s.port, s.ipcPath, s.cached = r, port, path, map[string]bool{}
	fault := s.fault
	s.mu.Unlock()
	s.changed.Notify()
	for t, ln := range listeners {
		if fault.refuses(t) {
			_ = ln.Close()
		} else {
			r.listen(t, ln)
		}
	}
	s.log.Debug("listening", "port", port, "ipc", path)
	return nil
}

// open opens an IPC socket, a port, or both, as the options say. The real client
// opens its socket first, too.
func (s *Server) open(ports []int) (listeners map[Transport]net.Listener, port int, path string, err error) {
	listeners = map[Transport]net.Listener{}
	if s.opts.IPCDir != "" {
		if listeners[IPC], path, err = s.opts.Network.ListenIPC(s.opts.IPCDir); err != nil {
			return nil, 0, "", err
		}
	}
	if !s.opts.NoTCP {
		if listeners[HTTP], port, err = s.opts.Network.ListenPort(ports); err != nil && path != "" {
			_ = listeners[IPC].Close()
		}
	}
	return listeners, port, path, err
}

// end ends the run, if there is one. lifecycle is held.
func (s *Server) end() {
	r := s.run
	if r == nil {
		return
	}
	r.stop()
	s.limiter.reset()
	s.thaw()
	s.mu.Lock()
	s.run = nil
	s.mu.Unlock()
	s.changed.Notify()
	s.log.Debug("stopped")
}

// Name is the name from [Options].
func (s *Server) Name() string { return s.opts.Name }

// Profile is the program that the server stands in for.
func (s *Server) Profile() Profile { return s.opts.Profile }

// IPCPath is the path of the unix socket or named pipe, even after it was
// stopped; empty if there is none.
func (s *Server) IPCPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ipcPath
}

// Port is the TCP port on 127.0.0.1, even after the server was stopped; 0 if
// there is none.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

// URL is http://127.0.0.1:PORT. It is of no use without a port.
func (s *Server) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.Port()) }

// Address says where the server listens: host and port, the IPC socket, or both.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch host := fmt.Sprintf("127.0.0.1:%d", s.port); {
	case s.port == 0:
		return s.ipcPath
	case s.ipcPath == "":
		return host
	default:
		return host + " and " + s.ipcPath
	}
}

// Close closes the port, the IPC socket and all connections and waits until
// every goroutine of the server has ended. What was recorded can still be read.
// It always returns nil and may be called twice.
func (s *Server) Close() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.changed.Notify()
	s.end()
	return nil
}

// Stop is the client going away: it closes the port, the IPC socket and all
// connections, and waits until every goroutine has ended. The recorded payloads
// and the device lists stay.
func (s *Server) Stop() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.end()
}

// Resume is the client coming back after [Server.Stop], on the same port or on
// the first free one of those given (0: any), and on the first free IPC socket.
// As at each start of the client, hardware_mute is false in all stored lists and
// all buckets are full. It does nothing if the server is running, and fails if
// the port was taken meanwhile.
func (s *Server) Resume(port ...int) error { return s.resume(port, false) }

// Restart is [Server.Stop] followed by [Server.Resume].
func (s *Server) Restart(port ...int) error { return s.resume(port, true) }

func (s *Server) resume(ports []int, stop bool) error {
	if err := checkPorts(ports); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if stop {
		s.end()
	}
	switch {
	case s.isClosed():
		return ErrClosed
	case s.Running():
		return nil
	}
	if len(ports) == 0 {
		ports = []int{s.Port()}
	}
	s.mu.Lock()
	s.store.restarted()
	s.known = s.store.registry()
	s.save(s.store)
	s.mu.Unlock()
	s.changed.Notify()
	return s.begin(ports)
}

// DropConnections closes all connections without notice, as a network error
// would; the port and the IPC socket stay open.
func (s *Server) DropConnections() {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.closeConns()
	}
}

// Payloads returns all recorded payloads, the oldest first; see [Options.KeepPayloads].
func (s *Server) Payloads() []Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.list)
}

// Devices is the accepted list of the client id that reported last; nil before
// the first report.
func (s *Server) Devices() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.store) == 0 {
		return nil
	}
	return slices.Clone(s.store[len(s.store)-1].Devices)
}

// DevicesOf is the accepted list of a client id; nil if it has none, and empty
// after an empty one. [Server.Lookup] says what the client makes of it.
func (s *Server) DevicesOf(clientID string) []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.store.of(clientID))
}

// Lookup returns what the client knows of a device id. All types, vendors and
// client ids share one flat map of ids, and the last entry wins. A new list of a
// client id removes all ids of its old one, even those that another client id
// has reported since. [Desktop] and [Flaky] ignore related ids that are not in
// the list, and the flags of devices other than audioinput.
func (s *Server) Lookup(id string) (Device, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.known[id]
	return r.seenBy(s.opts.Profile), ok
}

// Known returns all devices that [Server.Lookup] would find, sorted by id.
func (s *Server) Known() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Device
	for _, id := range slices.Sorted(maps.Keys(s.known)) {
		list = append(list, s.known[id].seenBy(s.opts.Profile))
	}
	return list
}

// lookedUp notes that the client knows an application: it asks its own servers
// about each one only once (rule R81).
func (s *Server) lookedUp(clientID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.cached) < maxClients {
		s.cached[clientID] = true
	}
}

func (s *Server) hasLookedUp(clientID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached[clientID]
}

// Stats returns the current counts.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Payloads = s.record.total
	line := s.limiter.state()
	st.Queued, st.Waited, st.Spent = line.Queued, line.Waited, line.Spent
	if s.run == nil {
		return st
	}
	st.Connections = len(s.run.conns)
	for c := range s.run.conns {
		if c.ready.Load() {
			st.Ready++
		}
	}
	return st
}

// Connections is the number of open connections of any transport.
func (s *Server) Connections() int { return s.Stats().Connections }
