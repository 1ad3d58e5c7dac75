package fakeserver

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"sidetone/fakeserver/internal/nodehttp"
)

const (
	headerTimeout = 10 * time.Second // for the head of a request
	bodyTimeout   = 30 * time.Second // for the rest of a request or message
	writeTimeout  = 10 * time.Second // for an answer

	maxHeader  = 68 << 10 // of a request, in bytes
	headerSlop = 4 << 10  // how much more than told net/http takes
)

// A run lasts from one start of the client until its last connection has ended.
type run struct {
	srv       *Server
	http      *http.Server
	listeners map[Transport]net.Listener // HTTP, for WebSockets too, and IPC, unless refused; guarded by srv.lifecycle
	wg        sync.WaitGroup             // every goroutine of the run

	done  chan struct{}      // closed under srv.mu when the run is being stopped
	conns map[*conn]struct{} // guarded by srv.mu
}

func newRun(s *Server) *run {
	r := &run{srv: s, listeners: map[Transport]net.Listener{}, done: make(chan struct{}), conns: map[*conn]struct{}{}}
	r.http = &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       s.opts.Profile.limits().idleTimeout,
		MaxHeaderBytes:    maxHeader - headerSlop,
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

// track counts net/http's goroutine of each connection. That of a hijacked one
// goes on in its handler, which ServeHTTP counts.
func (r *run) track(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		r.wg.Add(1)
	case http.StateClosed, http.StateHijacked:
		r.wg.Done()
	}
}

func (r *run) listen(t Transport, ln net.Listener) {
	r.listeners[t] = ln
	r.wg.Go(func() {
		if t == IPC {
			r.serveIPC(ln)
		} else {
			_ = r.http.Serve(httpListener{ln, r})
		}
	})
}

func (r *run) closeListener(t Transport) {
	if ln := r.listeners[t]; ln != nil {
		_ = ln.Close()
		delete(r.listeners, t)
	}
}

func (r *run) stop() {
	r.closeListener(HTTP)
	r.closeListener(IPC)
	r.srv.mu.Lock()
	close(r.done)
	r.srv.mu.Unlock()
	_ = r.http.Close()
	r.closeConns()
	r.wg.Wait()
}

func (r *run) closeConns() {
	r.srv.mu.Lock()
	conns := slices.Collect(maps.Keys(r.conns))
	r.srv.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// addConn adds an accepted socket to the run. If the run is being stopped, it is
// closed at once.
func (r *run) addConn(raw net.Conn, ipc bool) *conn {
	s := r.srv
	c := &conn{Conn: raw, run: r, ipc: ipc, closed: make(chan struct{})}
	s.waitWhileFrozen(r.done)
	s.mu.Lock()
	s.stats.Accepted++
	c.id = s.stats.Accepted
	r.conns[c] = struct{}{}
	s.mu.Unlock()
	s.changed.Notify()
	if isClosed(r.done) {
		_ = c.Close()
	}
	return c
}

func (r *run) removeConn(c *conn) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	delete(r.conns, c)
	r.srv.changed.Notify()
}

// admit reports whether there is room for one more IPC connection (rule R80).
func (r *run) admit(c *conn) bool {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if limit := r.srv.opts.Profile.limits().maxIPC; limit > 0 && r.admitted() >= limit {
		return false
	}
	c.admitted = true
	return true
}

// admitted counts the open IPC connections that were admitted. srv.mu is held.
func (r *run) admitted() (n int) {
	for c := range r.conns {
		if c.admitted {
			n++
		}
	}
	return n
}

// An httpListener hands connections to net/http, except those that must never be
// answered.
type httpListener struct {
	net.Listener
	run *run
}

func (l httpListener) Accept() (net.Conn, error) {
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
			if l.run.srv.opts.Profile.isDesktop() {
				c.parser = nodehttp.New()
			}
			return c, nil
		}
		l.run.wg.Go(func() {
			_, _ = io.Copy(io.Discard, c) // until the peer or the server closes it
			_ = c.Close()
		})
	}
}
