package fakeserver

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	closeTimeout = 2 * time.Second // for the peer's half of a closing handshake
	queued       = 256             // answers of one socket that may wait to be sent
)

var upgrader = websocket.Upgrader{
	HandshakeTimeout: writeTimeout,
	// The client accepts any origin here and closes with a code afterwards.
	CheckOrigin: func(*http.Request) bool { return true },
}

func (s *Server) serveWebSocket(w http.ResponseWriter, req *http.Request) {
	ws, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		s.log.Info("websocket handshake failed", "err", err)
		return
	}
	c := connOf(req)
	defer c.Close()
	if refusal := s.socketRefusal(req); refusal != nil {
		s.log.Info("websocket refused", "conn", c.id, "code", refusal.Code, "reason", refusal.Error())
		closeSocket(ws, refusal.Code, refusal.Error())
		return
	}
	k := &socket{srv: s, conn: c, ws: ws, clientID: req.URL.Query().Get("client_id"), out: make(chan outgoing, queued)}
	var writer sync.WaitGroup
	writer.Go(k.write)
	k.greet()
	k.read()
	_ = c.Close()
	writer.Wait()
}

// socketRefusal says why the client would close a new WebSocket, and with
// which code; nil when it would not (rules R19, R21).
func (s *Server) socketRefusal(req *http.Request) *Rejection {
	query, origin := req.URL.Query(), req.Header.Get("Origin")
	if f, ok := s.hit(WebSocket, FaultCloseCode); ok {
		return reject(f.Code, "fault %s", f.Kind)
	}
	switch {
	case query.Get("v") != "1":
		return reject(codeVersion, "v is %s, not 1", show(query.Get("v")))
	case query.Get("encoding") != "json":
		return reject(codeEncoding, "encoding is %s, not json", show(query.Get("encoding")))
	case !s.opts.knowsClient(query.Get("client_id")):
		return reject(codeClientID, "client_id %s is not a known application", show(query.Get("client_id")))
	case !s.opts.allowsOrigin(origin):
		return reject(codeOrigin, "Origin %s is not registered", show(origin))
	}
	return nil
}

// A socket is one WebSocket that was let in. One goroutine reads, another
// writes, so that a late answer does not keep the next payload waiting.
type socket struct {
	srv      *Server
	conn     *conn
	ws       *websocket.Conn
	clientID string
	out      chan outgoing
	ready    atomic.Bool // READY was sent
}

// An outgoing message is sent when it is due, in order.
type outgoing struct {
	due   time.Time
	data  []byte
	ready bool // it is READY
}

func (k *socket) greet() {
	hello := outgoing{data: []byte(readyMessage), ready: true}
	if f, ok := k.srv.hit(WebSocket, FaultReadyLate, FaultReadyNever); ok {
		if f.Kind == FaultReadyNever {
			return
		}
		hello.due = time.Now().Add(f.Delay)
	}
	k.send(hello)
}

func (k *socket) send(m outgoing) {
	select {
	case k.out <- m:
	case <-k.conn.closed:
	}
}

func (k *socket) write() {
	for {
		select {
		case m := <-k.out:
			if !k.conn.sleep(m.due, nil) {
				return
			}
			if m.ready {
				k.markReady()
			}
			_ = k.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
			if k.ws.WriteMessage(websocket.TextMessage, m.data) != nil {
				_ = k.conn.Close()
				return
			}
		case <-k.conn.closed:
			return
		}
	}
}

func (k *socket) markReady() {
	k.ready.Store(true)
	k.srv.mu.Lock()
	defer k.srv.mu.Unlock()
	k.conn.ready = true
	k.srv.notify()
}

// read serves the socket until it ends.
func (k *socket) read() {
	for {
		kind, body, err := k.ws.NextReader()
		if err != nil {
			return
		}
		if _, ok := k.srv.hit(WebSocket, FaultDie); ok {
			_, _ = io.ReadFull(body, make([]byte, 1))
			k.conn.reset()
			return
		}
		_ = k.ws.SetReadDeadline(time.Now().Add(bodyTimeout))
		raw, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
		arrived := k.conn.readAt()
		if err != nil {
			return
		}
		_ = k.ws.SetReadDeadline(time.Time{})
		p := Payload{Time: arrived, Transport: WebSocket, Conn: k.conn.id, ClientID: k.clientID, Raw: raw}
		if !k.handle(p, kind) {
			return
		}
	}
}

// handle reports whether the socket goes on.
func (k *socket) handle(p Payload, kind int) bool {
	refusal := k.refusal(&p, kind)
	v := k.srv.receive(p, refusal)
	switch {
	case v.do == ignore:
		return true
	case v.do == hangUp:
		return false
	case v.close != 0:
		closeSocket(k.ws, v.close, "")
		return false
	}
	k.send(outgoing{due: p.Time.Add(v.delay), data: v.body})
	return true
}

// refusal says why a message is refused for what it is, not for what it says
// (rules R16, R18, R47).
func (k *socket) refusal(p *Payload, kind int) *Rejection {
	switch {
	case len(p.Raw) > maxMessage:
		p.Raw = nil
		return reject(codeTooBig, "message: larger than %d bytes", maxMessage)
	case kind == websocket.BinaryMessage:
		return reject(codeBadJSON, "message: binary frame, not text")
	case !k.ready.Load():
		return reject(0, "message: sent before READY, lost")
	}
	return nil
}

// closeSocket does the closing handshake: what the peer still sends is read
// away, since closing on unread data would reset the connection and could cost
// the peer the code.
func closeSocket(ws *websocket.Conn, code int, reason string) {
	const room = 123 // bytes, in a control frame beside the code
	if len(reason) > room {
		reason = strings.ToValidUTF8(reason[:room], "")
	}
	deadline := time.Now().Add(closeTimeout)
	if ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), deadline) != nil {
		return
	}
	_ = ws.SetReadDeadline(deadline)
	for {
		if _, _, err := ws.NextReader(); err != nil {
			return
		}
	}
}
