package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
)

// limits bound what one user's programs can take of the agent.
type limits struct {
	connections int           // open at once
	share       int           // of them for one process, if the listener knows which it is
	watches     int           // of them that are watches
	body        int64         // bytes of a request's body
	request     time.Duration // until all of a request has arrived
	recordings  int           // made at once
	push        time.Duration // until the Backend has applied a push, or told clients that the agent ends
	write       time.Duration // until the peer has taken an answer, or a line of a stream
	idle        time.Duration // between two requests on a connection that holds no push
	grace       time.Duration // for answers under way when the server ends
}

// defaultLimits are those of the product.
var defaultLimits = limits{
	connections: 64,
	share:       8,
	watches:     32,
	body:        1 << 20,
	request:     5 * time.Second,
	recordings:  4,
	push:        5 * time.Second,
	write:       10 * time.Second,
	idle:        2 * time.Minute,
	grace:       500 * time.Millisecond,
}

// headBytes bounds the head of a request: 16 KiB, of which net/http adds 4 by itself.
const headBytes = 12 << 10

// maxProduct bounds the id of a product in a path, in bytes.
const maxProduct = 128

// Server answers requests to the local API.
type Server struct {
	backend Backend
	log     *slog.Logger
	limits  limits
	routes  map[string]route // by path
	open    sync.WaitGroup   // connections

	recordings chan struct{} // has an element for each that is made
	watches    chan struct{} // and for each of these
}

// NewServer makes a server that asks backend.
func NewServer(backend Backend, log *slog.Logger) *Server {
	return newServer(backend, log, defaultLimits)
}

func newServer(backend Backend, log *slog.Logger, limits limits) *Server {
	s := &Server{
		backend: backend, log: log, limits: limits,
		recordings: make(chan struct{}, limits.recordings), watches: make(chan struct{}, limits.watches),
	}
	s.routes = s.newRoutes()
	return s
}

// Serve answers connections of l until ctx ends; then it closes l, ends every connection, releases what they held and returns nil. l must
// let in peers of this user only; its connections may tell their process (PeerPID() int). If l is closed before that, no more are let in,
// and those that there are go on. It can be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:                      http.HandlerFunc(s.handle),
		DisableGeneralOptionsHandler: true,
		ReadTimeout:                  s.limits.request,
		WriteTimeout:                 s.limits.request + s.limits.write,
		IdleTimeout:                  -1, // see connState
		MaxHeaderBytes:               headBytes,
		Protocols:                    new(http.Protocols),
		ConnState:                    s.connState,
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	server.Protocols.SetHTTP1(true)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.grace)
		defer cancel()
		_ = server.Shutdown(grace)
		_ = server.Close() // whatever is still under way
	})
	err := server.Serve(newGate(l, s))
	if errors.Is(err, net.ErrClosed) {
		s.open.Wait()
		err = nil
	}
	if !stop() {
		<-ended
		err = nil
	}
	_ = server.Close()
	s.open.Wait()
	return err
}

// handle answers a request. A path is taken as it was sent: there is one spelling of each.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	to, err := s.admit(w, r)
	var body []byte
	if err == nil {
		body, err = s.readBody(w, r, to.hasBody)
	}
	var answer any
	if err == nil {
		answer, err = to.answer(w, r, body)
	}
	s.reply(w, answer, err)
}

// admit finds the route of a request that may be answered.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (to route, err error) {
	if err := s.checkOrigin(r); err != nil {
		w.Header().Set("Connection", "close")
		return to, err
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if rest, ok := strings.CutPrefix(path, "/v1/states/"); ok && rest != "" && !strings.Contains(rest, "/") {
		product, err := url.PathUnescape(rest)
		if err != nil || !printable(product, maxProduct) {
			return to, invalid("the path names no product: its id has 1 to %d printable characters", maxProduct)
		}
		r.SetPathValue("product", product)
		path = statesPath
	}
	to, known := s.routes[path]
	switch {
	case !known:
		return to, problem(http.StatusNotFound, CodePath, "there is no %.80q here; docs/api.md lists what there is", r.RequestURI)
	case to.method != r.Method:
		w.Header().Set("Allow", to.method)
		return to, problem(http.StatusMethodNotAllowed, CodeMethod, "%.20q is not for %s; use %s", r.Method, path, to.method)
	}
	return to, nil
}

// printable reports whether s has 1 to limit bytes, all of them of printable characters
// without a slash.
func printable(s string, limit int) bool {
	return s != "" && len(s) <= limit && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '/'
	}) < 0
}
