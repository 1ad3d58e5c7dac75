package fakeserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"sidetone/fakeserver/internal/nodehttp"
)

// ServeHTTP answers one request as the client does, or as the fault demands.
func (r *run) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.wg.Add(1)
	defer r.wg.Done()
	s, desktop := r.srv, r.srv.opts.Profile.isDesktop()
	switch {
	case desktop && req.Header["Upgrade"] != nil && !websocket.IsWebSocketUpgrade(req):
		s.refuseUpgrade(w, req)
		return
	case desktop && req.Host == "":
		s.refuseHost(w, req)
		return
	}
	transport := HTTP
	if websocket.IsWebSocketUpgrade(req) {
		transport = WebSocket
	}
	if f, ok := s.useFault(transport, FaultHang, FaultSquatter); ok {
		s.ignore(w, req, f.Kind, fmt.Sprintf("fault %s: not taken", f.Kind), f.Kind == FaultHang)
		return
	}
	switch {
	case s.opts.Profile == Squatter:
		s.ignore(w, req, FaultNone, "profile squatter: not taken", false)
	case transport == WebSocket && !s.opts.NoWebSocket && s.opts.acceptsWebSocket(req.URL.Path):
		s.serveWebSocket(w, req)
	case transport == WebSocket:
		s.notFound(w)
	case s.opts.Profile == ArRPC:
		s.ignore(w, req, FaultNone, neverAnswered, true) // rule R13
	default:
		s.serveHTTP(w, req)
	}
}

// acceptsWebSocket reports whether a WebSocket may be opened at a path (rule R77).
func (o Options) acceptsWebSocket(path string) bool {
	return path == "/" || o.Profile == ArRPC || o.Profile.isDesktop()
}

// serveHTTP answers a request that does not open a WebSocket.
func (s *Server) serveHTTP(w http.ResponseWriter, req *http.Request) {
	path, _, _ := strings.Cut(req.RequestURI, "?")
	rpc := path == "/rpc" // not escaped, and not in the form for proxies (rule R83)
	if s.opts.Profile.isDesktop() && (!rpc || req.Method != http.MethodGet) {
		allowOrigin(w, req)
	}
	if rpc && req.Method == http.MethodPost && !s.opts.NoHTTP {
		s.serveRPC(w, req)
		return
	}
	s.count(&s.stats.Probes)
	s.serveProbe(w, req, rpc)
}

// serveProbe answers a request that is not for the command. rpc: its path is that of the command.
func (s *Server) serveProbe(w http.ResponseWriter, req *http.Request, rpc bool) {
	desktop, query := s.opts.Profile.isDesktop(), s.opts.query(req)
	switch {
	case s.opts.NoFingerprint:
		s.notFound(w)
	case rpc && desktop && req.Method == http.MethodOptions:
		write(w, http.StatusOK, jsonType, []byte(optionsBody))
	case rpc && req.Method == http.MethodGet && (s.badVersion(req) != nil || desktop && badPayload(query.Get("payload"))):
		s.hang(w)
	case rpc && req.Method == http.MethodGet:
		w.WriteHeader(http.StatusMovedPermanently)
	default:
		s.notFound(w)
	}
}

// allowOrigin lets web pages of any origin read the answer, as the client does (rule R83).
func allowOrigin(w http.ResponseWriter, req *http.Request) {
	if origin, sent := req.Header["Origin"]; sent {
		w.Header().Set("Access-Control-Allow-Origin", origin[0])
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Allow-Methods", "POST, GET, PUT, PATCH, DELETE")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type, Authorization")
	}
}

// query is the query of a request as the client reads it: it ends at a second question mark, only & separates, and what
// is escaped badly stays as it is (rule R83).
func (o Options) query(req *http.Request) url.Values {
	if !o.Profile.isDesktop() {
		return req.URL.Query()
	}
	values := url.Values{}
	if parts := strings.Split(req.RequestURI, "?"); len(parts) > 1 {
		for pair := range strings.SplitSeq(parts[1], "&") {
			key, value, _ := strings.Cut(pair, "=")
			values.Add(unescaped(key), unescaped(value))
		}
	}
	return values
}

func unescaped(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// badPayload reports whether the payload of a GET keeps the client from answering: null, or a bad escape (rule R83).
func badPayload(text string) bool {
	plain, err := url.PathUnescape(text)
	return err != nil || !utf8.ValidString(plain) || isNull([]byte(plain))
}

// notFound sends the client's answer to unknown requests, by which it is told from
// other programs (rule R8).
func (s *Server) notFound(w http.ResponseWriter) {
	if s.opts.NoFingerprint {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	write(w, http.StatusNotFound, jsonType, []byte(notFoundBody))
}

// ignore answers as a program that is not the client or no longer works: with a
// 404 HTML page, or not at all if silent. It records what a POST says.
func (s *Server) ignore(w http.ResponseWriter, req *http.Request, kind FaultKind, reason string, silent bool) {
	post := req.Method == http.MethodPost
	if !post && kind == FaultNone {
		s.count(&s.stats.Probes)
	}
	d := delivery{Payload: s.payloadFrom(req)}
	err := s.readBody(w, req, nil, &d)
	if err == nil && post {
		s.recordUnread(d.Payload, kind, reason)
	}
	switch {
	case !silent:
		write(w, http.StatusNotFound, "text/html; charset=utf-8", []byte(squatterBody))
	case err != nil:
		_ = connOf(req).Close()
	default:
		silence(req)
	}
}

// serveRPC handles a command. It takes the token when it has read the head, and
// applies the list when it has read the body (rule R87).
func (s *Server) serveRPC(w http.ResponseWriter, req *http.Request) {
	injected := s.draw(HTTP, payloadEvent)
	if _, ok := s.meetFault(HTTP, injected, FaultDie); ok {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		_, _ = io.CopyN(io.Discard, req.Body, max(req.ContentLength/2, 1))
		connOf(req).reset()
		return
	}
	d := delivery{Payload: s.payloadFrom(req), injected: injected, refusal: s.badRequest(req)}
	_, origin := req.Header["Origin"]
	d.noScope = s.opts.Profile.isDesktop() && origin
	var t *turn
	if d.refusal == nil {
		t = s.limiter.join(d.ClientID)
	}
	err := s.readBody(w, req, t, &d)
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, errAbandoned):
		d.EndedBy, d.refusal = Sender, reject(0, "request: abandoned before it was answered, dropped")
		s.receive(d)
		_ = connOf(req).Close()
		return
	case errors.Is(err, errDropped):
		d.EndedBy, d.refusal = Receiver, reject(0, "request: dropped with its connection, while it waited in line")
		s.receive(d)
		return
	case isTooLarge:
		d.refusal = reject(codeTooBig, "message: larger than %d bytes", tooLarge.Limit)
	case err != nil:
		_ = connOf(req).Close() // the peer went away in the middle of the request
		return
	case d.refusal == nil:
		d.refusal = s.refusal(req)
	}
	s.answer(w, req, s.receive(d), d.Time)
}

// payloadFrom returns a payload with what the head of its request says.
func (s *Server) payloadFrom(req *http.Request) Payload {
	p := Payload{Transport: HTTP, Conn: connOf(req).id, ClientID: s.opts.query(req).Get("client_id")}
	if origin, sent := req.Header["Origin"]; sent && (origin[0] != "" || s.opts.Profile.isDesktop()) {
		p.Warnings = append(p.Warnings, fmt.Sprintf("request: Origin %s sent: a native program has none", show(origin[0])))
	}
	if req.ContentLength < 0 {
		p.Warnings = append(p.Warnings, "request: no Content-Length")
	}
	return p
}

// badRequest says why the client would never answer a request; nil if it would
// (rules R25, R26). Such a request costs no token.
func (s *Server) badRequest(req *http.Request) *Rejection {
	kind := req.Header.Get("Content-Type")
	ok, want := kind == jsonType, jsonType
	if s.opts.Profile.isDesktop() {
		parts := strings.Split(kind, "/")
		ok, want = len(parts) > 1 && parts[1] == "json", "json after its slash"
	}
	if !ok {
		return reject(0, "request: Content-Type %s, not exactly %s: never answered", show(kind), want)
	}
	return s.badVersion(req)
}

// badVersion says why the client would never answer a request with this version.
func (s *Server) badVersion(req *http.Request) *Rejection {
	switch v := s.opts.query(req).Get("v"); {
	case s.opts.Profile.isDesktop() && goodVersion(v):
	case s.opts.Profile.isDesktop() || v != "1" && req.Method == http.MethodPost:
		return reject(0, "request: v is %s, not 1: never answered", show(v))
	}
	return nil
}

// refusal says why the client would refuse a request because of its sender; nil if
// it would not (rules R24, R43).
func (s *Server) refusal(req *http.Request) *Rejection {
	id := s.opts.query(req).Get("client_id")
	origin, sent := req.Header["Origin"]
	switch {
	case sent && s.opts.isOwn(id, origin[0]):
		return nil
	case !s.opts.knowsClient(id):
		return reject(codeClientID, "request: client_id %s is not a known application", show(id))
	case sent && s.opts.refusesOrigin(origin[0]):
		return reject(codeOrigin, "request: Origin %s is not registered", show(origin[0]))
	}
	return nil
}

// ownOrigin matches the origins of the client's own pages.
var ownOrigin = regexp.MustCompile(`^https://([a-z]+\.)?discord\.com$`)

// isOwn reports whether a request is one of the client's own pages, which need no application (rule R24).
func (o Options) isOwn(clientID, origin string) bool {
	return o.Profile.isDesktop() && clientID == "" && ownOrigin.MatchString(origin)
}

// refusesOrigin reports whether an HTTP request is refused because of its origin.
// To the real client, an empty origin is an origin, too (rule R24).
func (o Options) refusesOrigin(origin string) bool {
	return (origin != "" || o.Profile.isDesktop()) && !o.allowsOrigin(origin)
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request, v response, arrived time.Time) {
	c := connOf(req)
	switch {
	case v.do == ignore && v.lost && s.opts.Profile.isDesktop():
		s.hang(w)
	case v.do == ignore:
		silence(req)
	case v.do == hangUp:
		_ = c.Close()
	case v.delay > 0 && !c.sleep(arrived.Add(v.delay), req.Context().Done()):
		_ = c.Close()
	case v.half:
		begin(w, v.status, jsonType, len(v.body))
		_, _ = w.Write(v.body[:len(v.body)/2])
		_ = http.NewResponseController(w).Flush()
		silence(req)
		_ = c.Close()
	default:
		write(w, v.status, jsonType, v.body)
	}
}

// hang leaves a request unanswered. The next one on the connection is refused
// without a reason, and the connection is closed (rule R82).
func (s *Server) hang(w http.ResponseWriter) {
	raw, ahead, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	c := raw.(*conn)
	defer c.Close()
	if _, err := ahead.Peek(1); err == nil {
		c.sayLast(nodehttp.BadRequest, ahead)
	}
}

// refuseHost refuses a request without a host, as the client's runtime does.
func (s *Server) refuseHost(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		s.recordUnread(s.payloadFrom(req), FaultNone, "request: no Host: refused")
	}
	w.Header().Set("Connection", "close")
	w.WriteHeader(http.StatusBadRequest)
}

// refuseUpgrade refuses a request to speak another protocol, as the library for WebSockets does (rule R92).
func (s *Server) refuseUpgrade(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodPost {
		s.recordUnread(s.payloadFrom(req), FaultNone, "request: Upgrade sent: refused, whatever it is")
	}
	if raw, ahead, err := http.NewResponseController(w).Hijack(); err == nil {
		c := raw.(*conn)
		defer c.Close()
		c.sayLast(upgradeRefusal, ahead)
	}
}

// silence blocks until the connection of a request ends, so that net/http never
// answers it.
func silence(req *http.Request) {
	c := connOf(req)
	select {
	case <-c.closed:
	case <-req.Context().Done():
		_ = c.Close()
	}
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	begin(w, status, contentType, len(body))
	_, _ = w.Write(body)
}

// begin writes the head of an answer whose body has size bytes.
func begin(w http.ResponseWriter, status int, contentType string, size int) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(size))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.WriteHeader(status)
}
