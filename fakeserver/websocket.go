package fakeserver

import (
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
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
	hello := readyMessage
	if s.opts.Profile == ArRPC {
		hello = readyUserMessage
	}
	k := &webSocket{
		socket: newSocket(s, c, WebSocket, hello),
		ws:     ws,
	}
	k.wire, k.clientID = webWire{ws}, req.URL.Query().Get("client_id")
	ws.SetPingHandler(k.pong)
	k.tasks.Go(k.write)
	k.admit(s.draw(WebSocket, connectEvent), s.badQuery(req), func() *Rejection { return s.refusePeer(req) })
	k.read()
	_ = c.Close()
	k.tasks.Wait()
}

// badQuery says why the client would close a new WebSocket before it looks at
// who it is; nil when it would not (rules R15, R21).
func (s *Server) badQuery(req *http.Request) *Rejection {
	query := req.URL.Query()
	switch {
	case s.opts.Profile == ArRPC:
		return badArRPCQuery(req)
	case s.opts.Profile.isDesktop() && !goodVersion(queryValue(query, "v")):
		return reject(codeVersion, "v is %s, not 1", show(query.Get("v")))
	case s.opts.Profile.isDesktop() && (!query.Has("encoding") || query.Get("encoding") == "json"):
		return nil
	case s.opts.Profile.isDesktop():
		return reject(codeEncoding, "encoding is %s, not json", show(query.Get("encoding")))
	case query.Get("v") != "1":
		return reject(codeVersion, "v is %s, not 1", show(query.Get("v")))
	case query.Get("encoding") != "json":
		return reject(codeEncoding, "encoding is %s, not json", show(query.Get("encoding")))
	}
	return nil
}

// refusePeer says why the client would close a WebSocket for who it is; nil when
// it would not (rules R19, R21).
func (s *Server) refusePeer(req *http.Request) *Rejection {
	id, origin := req.URL.Query().Get("client_id"), req.Header.Get("Origin")
	switch {
	case s.opts.Profile == ArRPC:
		return nil
	case !s.opts.knowsClient(id):
		return reject(codeClientID, "client_id %s is not a known application", show(id))
	case !s.opts.allowsOrigin(origin):
		return reject(codeOrigin, "Origin %s is not registered", show(origin))
	}
	return nil
}

// A webSocket is one WebSocket that was upgraded.
type webSocket struct {
	socket
	ws *websocket.Conn
}

// read serves the socket until it ends.
func (k *webSocket) read() {
	for {
		kind, body, err := k.ws.NextReader()
		if err != nil {
			return
		}
		if k.ending() {
			continue
		}
		injected := k.srv.draw(WebSocket, payloadEvent)
		if _, ok := k.srv.meetFault(WebSocket, injected, FaultDie); ok {
			_, _ = io.ReadFull(body, make([]byte, 1))
			k.conn.reset()
			return
		}
		k.limit(bodyTimeout)
		raw, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
		arrived := k.conn.readAt()
		if err != nil {
			return
		}
		k.limit(0)
		p := Payload{Time: arrived, Transport: WebSocket, Conn: k.conn.id, ClientID: k.clientID, Raw: raw}
		if !k.take(p.withoutOversized(), injected, k.badMessage(len(raw), kind)) {
			return
		}
	}
}

// badMessage says why a message is refused for what it is, not for what it
// says (rules R18, R47).
func (k *webSocket) badMessage(size, kind int) *Rejection {
	switch {
	case size > maxMessage:
		return reject(codeTooBig, "message: larger than %d bytes", maxMessage)
	case kind == websocket.BinaryMessage && k.srv.opts.Profile != ArRPC:
		return reject(codeBadJSON, "message: binary frame, not text")
	}
	return nil
}

func (k *webSocket) pong(data string) error {
	if !k.writesNoMore.Load() {
		_ = k.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTimeout))
	}
	return nil
}

// A webWire speaks WebSocket.
type webWire struct{ ws *websocket.Conn }

func (w webWire) writeMessage(text []byte) error {
	_ = w.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	return w.ws.WriteMessage(websocket.TextMessage, text)
}

// writeHalf writes a frame of its own making, as the library writes whole ones only.
func (w webWire) writeHalf(text []byte) error {
	const finalText, length16, length64 = 0x81, 126, 127
	head := []byte{finalText, byte(len(text))}
	switch {
	case len(text) > 0xffff:
		head = binary.BigEndian.AppendUint64([]byte{finalText, length64}, uint64(len(text)))
	case len(text) >= length16:
		head = binary.BigEndian.AppendUint16([]byte{finalText, length16}, uint16(len(text)))
	}
	_ = w.ws.NetConn().SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := w.ws.NetConn().Write(append(head, text[:len(text)/2]...))
	return err
}

func (w webWire) writeClose(code int, reason string) error {
	const room = 123 // bytes, in a control frame beside the code
	if len(reason) > room {
		reason = strings.ToValidUTF8(reason[:room], "")
	}
	return w.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(closeTimeout))
}
