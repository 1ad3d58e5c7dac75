package fakeserver

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// ErrClosed is returned by calls on a server that was closed.
var ErrClosed = errors.New("the fake server is closed")

// A Server stands in for one client. Its methods may be called from any
// goroutine.
type Server struct {
	opts    Options
	log     *slog.Logger
	started time.Time

	lifecycle sync.Mutex // one change between running, refusing and stopped at a time
	run       *run       // nil when stopped; written under lifecycle and mu

	limiter *limiter
	gate    gate

	order sync.Mutex // one payload is judged, recorded and reported at a time

	mu         sync.Mutex
	port       int
	ipcPath    string // of the socket or pipe; "" when there is none
	closed     bool
	fault      Fault
	timesLeft  int // times the fault still applies, when it is limited
	sinceClose int // payloads since FaultCloseAfter last closed a connection
	rng        rng // of [Flaky]
	record     record
	store      store
	known      registry
	cached     map[string]bool // applications that were looked up in this run
	stats      Stats           // Connections, Ready and Payloads are counted when asked for
	listening  chan struct{}   // closed at the next change; nil when nobody waits
}

// Stats are the counts of a server, from its start over all restarts.
type Stats struct {
	Connections int // open now, of any transport
	Ready       int // WebSockets and IPC connections open now to which READY was sent
	Accepted    int // connections ever accepted
	Handshakes  int // IPC handshakes ever received
	Probes      int // HTTP requests that carried no payload
	Payloads    int // payloads ever received
	Rejected    int // payloads that were not taken
	Faults      int // times a fault was applied
	Queued      int // requests and connects that wait in line for a token now
	Waited      int // requests and connects that ever had to wait
	Spent       int // tokens ever spent
}

// Start opens a port and an IPC socket, as the options say, and serves on
// them. The error says which option makes no sense, what could not be opened or
// which state file cannot be used.
func Start(opts Options) (*Server, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("fake server: %w", err)
	}
	s := &Server{opts: opts, log: opts.Logger, started: time.Now(), fault: opts.Fault, timesLeft: opts.Fault.Times}
	s.record.limit = opts.KeepPayloads
	s.rng = newRNG(opts.Seed)
	s.limiter = newLimiter(opts.Bucket, opts.Refill, s.wake)
	if opts.StateFile != "" {
		if s.store, err = loadState(opts.StateFile); err != nil {
			return nil, fmt.Errorf("fake server: %w", err)
		}
	}
	s.known = s.store.registry()
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if err := s.begin(opts.Ports); err != nil {
		return nil, fmt.Errorf("fake server: %w", err)
	}
	return s, nil
}

// begin starts a run on the first free port. lifecycle is held.
func (s *Server) begin(ports []int) error {
	r := newRun(s)
	d, err := s.open(ports)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.run, s.port, s.ipcPath = r, d.port, d.path
	s.notify()
	fault := s.fault
	s.mu.Unlock()
	switch {
	case d.tcp == nil:
	case fault.refuses(HTTP):
		_ = d.tcp.Close()
	default:
		r.listenTCP(d.tcp)
	}
	switch {
	case d.ipc == nil:
	case fault.refuses(IPC):
		_ = d.ipc.Close()
	default:
		r.listenIPC(d.ipc)
	}
	s.log.Debug("listening", "port", d.port, "ipc", d.path)
	return nil
}

// open opens what the options say: an IPC socket, a port, or both. The real client opens its
// socket first, too.
func (s *Server) open(ports []int) (d listeners, err error) {
	if s.opts.IPCDir != "" {
		if d.ipc, d.path, err = s.opts.Network.ListenIPC(s.opts.IPCDir); err != nil {
			return d, err
		}
	}
	if !s.opts.NoTCP {
		if d.tcp, d.port, err = s.opts.Network.ListenPort(ports); err != nil && d.ipc != nil {
			_ = d.ipc.Close()
		}
	}
	return d, err
}

// listeners are those of a server; nil for one there is not.
type listeners struct {
	tcp, ipc net.Listener
	port     int
	path     string
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
	s.cached = nil
	s.notify()
	s.mu.Unlock()
	s.log.Debug("stopped")
}

// Name is the label of the server, as in [Options].
func (s *Server) Name() string { return s.opts.Name }

// Profile is the program the server plays.
func (s *Server) Profile() Profile { return s.opts.Profile }

// IPCPath is the path of the unix socket or named pipe; of a stopped server,
// the one it had. It is empty when there is none.
func (s *Server) IPCPath() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ipcPath
}

// Port is the TCP port on 127.0.0.1; of a stopped server, the one it had. It
// is 0 when there is none.
func (s *Server) Port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}

// URL is the address of the server without a path: http://127.0.0.1:PORT. It
// is of no use when there is no port.
func (s *Server) URL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.Port()) }

// Address is where the server listens, for people: host and port, the IPC socket, or both.
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

// Close closes the port, the IPC socket and all connections and waits until every goroutine of
// the server has ended. Everything recorded can still be read. It always
// returns nil and may be called twice.
func (s *Server) Close() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.mu.Lock()
	s.closed = true
	s.notify()
	s.mu.Unlock()
	s.end()
	return nil
}

// Stop is the client going away: the port, the IPC socket and all connections
// are closed and every goroutine has ended when it returns. What was recorded and the device
// lists stay.
func (s *Server) Stop() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.end()
}

// Resume is the client coming back after [Server.Stop], on the same port or on
// the first free one of those given (0: any), and on the first free IPC socket.
// As at each start of the client, hardware_mute is false in all stored lists and
// all buckets are full. It does nothing to a server that
// runs, and fails when the port was taken meanwhile.
func (s *Server) Resume(port ...int) error {
	if err := checkPorts(port); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	return s.resume(port)
}

// Restart is [Server.Stop] followed by [Server.Resume].
func (s *Server) Restart(port ...int) error {
	if err := checkPorts(port); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.end()
	return s.resume(port)
}

// resume begins a run, if there is none. lifecycle is held.
func (s *Server) resume(ports []int) error {
	if len(ports) == 0 {
		ports = []int{s.Port()}
	}
	s.mu.Lock()
	closed, running := s.closed, s.run != nil
	if !closed && !running {
		s.store.restarted()
		s.known = s.store.registry()
		s.save(s.store)
		s.notify()
	}
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if running {
		return nil
	}
	if err := s.begin(ports); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	return nil
}

// DropConnections closes all connections without a word, as a network error
// would; the port and the IPC socket stay open.
func (s *Server) DropConnections() {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	if r != nil {
		r.closeConns()
	}
}

// Payloads returns all payloads that are kept, the oldest first.
func (s *Server) Payloads() []Payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.record.list)
}

// Devices is the accepted list of the client id that was the last to report
// one; nil before the first.
func (s *Server) Devices() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.store.last())
}

// DevicesOf is the accepted list of a client id; nil when it has none, and empty
// after an empty one. [Server.Lookup] says what the client makes of it.
func (s *Server) DevicesOf(clientID string) []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.store.of(clientID))
}

// Lookup finds what the client knows of a device id. Ids share one flat map
// over all types, vendors and client ids, and the last entry wins. A new list of a
// client id takes out all ids of its old one, also those that another client id
// has reported since. [Desktop] and [Flaky] do not know related ids that are not
// in the list, nor the flags of devices other than audioinput.
func (s *Server) Lookup(id string) (Device, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.known[id]
	return s.asSeenByClient(r), ok
}

// Known is all that [Server.Lookup] would find, in order of the ids.
func (s *Server) Known() []Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Device
	for _, id := range slices.Sorted(maps.Keys(s.known)) {
		list = append(list, s.asSeenByClient(s.known[id]))
	}
	return list
}

func (s *Server) asSeenByClient(r registered) Device {
	if s.opts.Profile.isDesktop() {
		return r.device.asSeenByClient(r.list)
	}
	return r.device
}

// lookedUp notes that the client knows an application, as it asks its own servers
// about each one once (rule R81).
func (s *Server) lookedUp(clientID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cached == nil {
		s.cached = map[string]bool{}
	}
	if len(s.cached) < maxClients {
		s.cached[clientID] = true
	}
}

func (s *Server) hasLookedUp(clientID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cached[clientID]
}

// Stats returns the counts of this moment.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Payloads = s.record.total
	line := s.limiter.state()
	st.Queued, st.Waited, st.Spent = line.queued, line.waited, line.spent
	if s.run == nil {
		return st
	}
	st.Connections = len(s.run.conns)
	for c := range s.run.conns {
		if c.ready {
			st.Ready++
		}
	}
	return st
}

// Connections is the number of open connections of any transport.
func (s *Server) Connections() int { return s.Stats().Connections }
