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
	connections int           // served at once; as many again are told that there are too many
	share       int           // of them for one process, where the listener tells which it is
	patience    time.Duration // until one that comes when all places are taken is told so
	body        int64         // bytes of a request's body
	header      time.Duration // until the head of a request is there
	request     time.Duration // until all of a request is there
	recordings  int           // made at once
	push        time.Duration // until the Backend has applied a push, or told clients of its end
	write       time.Duration // until an answer, or a line of a watch, is taken
	idle        time.Duration // between two requests on a connection that holds no push
	grace       time.Duration // for answers under way when the server ends
}

// defaultLimits are those of the product.
func defaultLimits() limits {
	return limits{
		connections: 64,
		share:       16,
		patience:    20 * time.Millisecond,
		body:        1 << 20,
		header:      5 * time.Second,
		request:     10 * time.Second,
		recordings:  4,
		push:        5 * time.Second,
		write:       10 * time.Second,
		idle:        2 * time.Minute,
		grace:       500 * time.Millisecond,
	}
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
	routes  map[string]map[string]http.HandlerFunc // by path and method
	gate    gate
	open    sync.WaitGroup // connections

	recordings chan struct{} // has an element for each that is made
}

// NewServer makes a server that asks backend.
func NewServer(backend Backend, log *slog.Logger) *Server {
	return newServer(backend, log, defaultLimits())
}

func newServer(backend Backend, log *slog.Logger, limits limits) *Server {
	s := &Server{backend: backend, log: log, limits: limits, recordings: make(chan struct{}, limits.recordings)}
	s.gate = gate{server: s, places: make(chan struct{}, limits.connections), spare: make(chan struct{}, limits.connections)}
	s.routes = map[string]map[string]http.HandlerFunc{
		"/v1/status":    {http.MethodGet: s.status},
		"/v1/timeline":  {http.MethodGet: s.timeline},
		"/v1/devices":   {http.MethodGet: s.devices},
		"/v1/watch":     {http.MethodGet: s.watch},
		"/v1/record":    {http.MethodGet: s.record},
		"/v1/metrics":   {http.MethodGet: s.metrics},
		"/v1/bundle":    {http.MethodGet: s.bundle},
		"/v1/refresh":   {http.MethodPost: s.refresh},
		"/v1/reload":    {http.MethodPost: s.reload},
		"/v1/pause":     {http.MethodPost: s.pause},
		"/v1/resume":    {http.MethodPost: s.resume},
		"/v1/stop":      {http.MethodPost: s.stop},
		"/v1/upgrade":   {http.MethodPost: s.upgrade},
		"/v1/handover":  {http.MethodPost: s.handOver},
		"/v1/log-level": {http.MethodPost: s.logLevel},
		handedOverPath:  {http.MethodPost: s.handedOver},
		statesPath:      {http.MethodPut: s.push},
	}
	return s
}

// statesPath is the path of a push, whose last part is any product.
const statesPath = "/v1/states/{product}"

// handedOverPath is that of the only request which an agent answers that has handed over.
const handedOverPath = "/v1/handover/done"

// Serve answers connections of l, whose peers are those of this user and which may tell their process (PeerPID() int), until
// ctx ends; then it closes l, ends every connection, releases what they held and returns nil. If l is closed before, no more come
// in, and those that there are go on. To be called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:                      http.HandlerFunc(s.handle),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            s.limits.header,
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
		_ = server.Close() // what is not over by then is cut
	})
	s.gate.Listener = l
	err := server.Serve(&s.gate)
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

// handle finds who answers. A path is taken as it was sent: there is one spelling of each.
func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if p := s.admit(r); p != nil {
		w.Header().Set("Connection", "close")
		s.refuse(w, p)
		return
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if rest, ok := strings.CutPrefix(path, "/v1/states/"); ok && rest != "" && !strings.Contains(rest, "/") {
		product, err := url.PathUnescape(rest)
		if err != nil || !printable(product, maxProduct) {
			s.refuse(w, problem(http.StatusBadRequest, CodeInvalid,
				"the path names no product: its id has 1 to %d printable characters", maxProduct))
			return
		}
		r.SetPathValue("product", product)
		path = statesPath
	}
	methods := s.routes[path]
	if methods == nil {
		s.refuse(w, problem(http.StatusNotFound, CodePath, "there is no %.80q here; docs/api.md lists what there is", r.RequestURI))
		return
	}
	if path != handedOverPath && s.backend.HasLetGo() {
		s.refuse(w, problem(http.StatusServiceUnavailable, CodeStopping, "another agent goes on in place of this one: ask again"))
		return
	}
	answer := methods[r.Method]
	if answer == nil {
		for method := range methods { // each path has one
			w.Header().Set("Allow", method)
			s.refuse(w, problem(http.StatusMethodNotAllowed, CodeMethod, "%.20q is not for %s; use %s", r.Method, path, method))
		}
		return
	}
	answer(w, r)
}

// printable reports whether s has 1 to limit bytes, all of them of printable characters
// without a slash.
func printable(s string, limit int) bool {
	return s != "" && len(s) <= limit && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '/'
	}) < 0
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		s.sendJSON(w, http.StatusOK, withEmptyLists(s.backend.Status()))
	}
}

func (s *Server) devices(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		d := s.backend.Devices()
		d.Endpoints, d.Reported, d.Withheld = list(d.Endpoints), list(d.Reported), list(d.Withheld)
		s.sendJSON(w, http.StatusOK, d)
	}
}

func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		s.sendJSON(w, http.StatusOK, s.backend.Timeline())
	}
}

func (s *Server) refresh(w http.ResponseWriter, r *http.Request) {
	if s.noBody(w, r) {
		s.backend.Refresh()
		s.send(w, http.StatusNoContent, "", nil)
	}
}

func (s *Server) reload(w http.ResponseWriter, r *http.Request) {
	if !s.noBody(w, r) {
		return
	}
	if err := s.backend.Reload(); err != nil {
		s.refuse(w, problem(http.StatusUnprocessableEntity, CodeInvalid, "the old settings and catalogue stay in force: %v", err))
		return
	}
	s.send(w, http.StatusNoContent, "", nil)
}

// push applies the body to the product in the path.
func (s *Server) push(w http.ResponseWriter, r *http.Request) {
	body, ok := s.readJSON(w, r)
	if !ok {
		return
	}
	request, err := parsePush(body)
	if err != nil {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid, "%v", err))
		return
	}
	c := connOf(r)
	if request.TTLms == 0 && r.Close {
		s.refuse(w, problem(http.StatusBadRequest, CodeInvalid,
			"without ttl_ms a push lives as long as its connection, and this request closes it: give ttl_ms, or keep the connection open"))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.limits.push)
	defer cancel()
	answer, err := s.backend.Push(ctx, r.PathValue("product"), request, c.holder)
	if request.TTLms == 0 && !errors.As(err, new(*Refusal)) {
		c.hold() // also when it is not known whether it was applied
	}
	if err != nil {
		s.refuse(w, problemOf(err))
		return
	}
	s.sendJSON(w, http.StatusOK, answer)
}

// problemOf is the answer to an error of a Backend.
func problemOf(err error) *Problem {
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		for _, k := range kinds {
			if errors.Is(refusal.Kind, k.kind) {
				return &Problem{k.status, k.code, refusal.Message, refusal.Candidates}
			}
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return problem(http.StatusGatewayTimeout, CodeTimeout, "the agent did not act in time: try again, and if it stays so, restart the agent")
	}
	return problem(http.StatusInternalServerError, CodeInternal, "the agent failed: %v", err)
}
