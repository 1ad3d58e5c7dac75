package fakeserver

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTimeout = 10 * time.Second // for the head of a request
	bodyTimeout   = 30 * time.Second // for the rest of a request or message
	writeTimeout  = 10 * time.Second // for an answer

	maxHeader = 64 << 10 // of a request, in bytes
)

// A run is one life of the client, from opening its port until its last
// connection has ended.
type run struct {
	srv  *Server
	http *http.Server
	tcp  net.Listener   // nil while connections are refused; guarded by srv.lifecycle
	ipc  net.Listener   // likewise
	wg   sync.WaitGroup // every goroutine of the run

	done     chan struct{}      // closed when the run is being stopped
	conns    map[*conn]struct{} // guarded by srv.mu
	admitted int                // IPC connections that were not turned away; guarded by srv.mu
	stopped  bool               // guarded by srv.mu
}

func newRun(s *Server) *run {
	r := &run{srv: s, done: make(chan struct{}), conns: make(map[*conn]struct{})}
	r.http = &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       s.opts.Profile.idleTimeout(),
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: r.track,
	}
	return r
}

type connKey struct{}

func connOf(req *http.Request) *conn { return req.Context().Value(connKey{}).(*conn) }

// track counts net/http's goroutine of each connection. One that is hijacked
// lives on in its handler, which ServeHTTP counts.
func (r *run) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		r.wg.Add(1)
	case http.StateClosed, http.StateHijacked:
		r.wg.Done()
	}
}

func (r *run) listenTCP(ln net.Listener) {
	r.tcp = ln
	r.wg.Go(func() { _ = r.http.Serve(listener{ln, r}) })
}

func (r *run) listenIPC(ln net.Listener) {
	r.ipc = ln
	r.wg.Go(func() { r.serveIPC(ln) })
}

func (r *run) closeTCP() {
	if r.tcp != nil {
		_ = r.tcp.Close()
		r.tcp = nil
	}
}

func (r *run) closeIPC() {
	if r.ipc != nil {
		_ = r.ipc.Close()
		r.ipc = nil
	}
}

// stop closes the listeners and all connections and waits for all goroutines.
func (r *run) stop() {
	r.closeTCP()
	r.closeIPC()
	r.srv.mu.Lock()
	r.stopped = true
	r.srv.mu.Unlock()
	close(r.done)
	_ = r.http.Close()
	r.closeConns()
	r.wg.Wait()
}

func (r *run) closeConns() {
	r.srv.mu.Lock()
	conns := make([]*conn, 0, len(r.conns))
	for c := range r.conns {
		conns = append(conns, c)
	}
	r.srv.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// addConn makes an accepted socket a connection of the run; one that came in
// while the run was being stopped is closed at once.
func (r *run) addConn(raw net.Conn, ipc bool) *conn {
	s := r.srv
	c := newConn(raw, r, ipc)
	s.gate.pass(r.done)
	s.mu.Lock()
	s.stats.Accepted++
	c.id = s.stats.Accepted
	r.conns[c] = struct{}{}
	stopped := r.stopped
	s.notify()
	s.mu.Unlock()
	if stopped {
		_ = c.Close()
	}
	return c
}

func (r *run) removeConn(c *conn) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	delete(r.conns, c)
	if c.admitted {
		c.admitted = false
		r.admitted--
	}
	r.srv.notify()
}

// admit reports whether there is room for one more IPC connection (rule R80).
func (r *run) admit(c *conn) bool {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if _, open := r.conns[c]; !open {
		return true
	}
	if r.admitted == maxIPC && r.srv.opts.Profile.isDesktop() {
		return false
	}
	c.admitted = true
	r.admitted++
	return true
}

// A listener hands the connections of a run to net/http, but for those that
// are never to be answered.
type listener struct {
	net.Listener
	run *run
}

func (l listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := l.run.addConn(raw, false)
		if l.run.srv.opts.Profile == Blackhole {
			l.run.wg.Go(func() { l.run.srv.serveBlackholeHTTP(c) })
			continue
		}
		if _, ok := l.run.srv.useFault("", FaultHang); !ok {
			return c, nil
		}
		l.run.wg.Go(func() {
			_, _ = io.Copy(io.Discard, c) // until the peer or the server closes it
			_ = c.Close()
		})
	}
}
