package fakeserver

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{
	HandshakeTimeout: writeTimeout,
	// The client accepts any origin here and closes with a code afterwards.
	CheckOrigin: func(*http.Request) bool { return true },
}

// upgrade opens a WebSocket. The real client's library is more lenient, and refuses without saying why (rules R92, R93).
func (s *Server) upgrade(w http.ResponseWriter, req *http.Request) (*websocket.Conn, error) {
	if !s.opts.Profile.isDesktop() {
		return upgrader.Upgrade(w, req, nil)
	}
	if req.Header.Get("Sec-WebSocket-Version") == "8" {
		req.Header.Set("Sec-WebSocket-Version", "13")
	}
	lenient := upgrader
	lenient.Error = func(w http.ResponseWriter, req *http.Request, _ int, _ error) { s.refuseUpgrade(w, req) }
	return lenient.Upgrade(lossyHijacker{w, http.NewResponseController(w)}, req, nil)
}

// A lossyHijacker drops what came together with the request.
type lossyHijacker struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (h lossyHijacker) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h lossyHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, ahead, err := h.control.Hijack()
	if err == nil {
		_, _ = ahead.Discard(ahead.Reader.Buffered())
		c.(*conn).dropRest()
	}
	return c, ahead, err
}

func (s *Server) serveWebSocket(w http.ResponseWriter, req *http.Request) {
	ws, err := s.upgrade(w, req)
	if err != nil {
		s.log.Info("websocket handshake failed", "err", err)
		return
	}
	c := connOf(req)
	defer c.Close()
	query, ready := s.opts.query(req), readyMessage
	switch {
	case s.opts.Profile == ArRPC:
		ready = readyUserMessage
	case math.IsNaN(number(query.Get("v"))): // refused, except by the real client
		ready = strings.Replace(ready, `"v":1`, `"v":null`, 1)
	}
	k := &webSocket{newSocket(s, c, WebSocket, ready), ws}
	k.wire, k.clientID = k, query.Get("client_id")
	ws.SetPingHandler(k.pong)
	if s.opts.Profile.isDesktop() {
		ws.SetReadLimit(int64(k.limit()))
		ws.SetCloseHandler(k.repeatClose)
	}
	k.tasks.Go(k.write)
	k.admit(s.draw(WebSocket, connectEvent), s.badQuery(req), func() *Rejection { return s.refusePeer(req) })
	k.read()
	_ = c.Close()
	k.tasks.Wait()
}

// badQuery says why the client would close a new WebSocket before it looks at the
// peer; nil if it would not (rules R15, R21).
func (s *Server) badQuery(req *http.Request) *Rejection {
	query := s.opts.query(req)
	v, encoding := query.Get("v"), query.Get("encoding")
	goodV, goodEncoding := v == "1", encoding == "json"
	if s.opts.Profile.isDesktop() {
		goodV, goodEncoding = goodVersion(v), goodEncoding || !query.Has("encoding")
	}
	switch {
	case s.opts.Profile == ArRPC:
		return badArRPCQuery(req)
	case !goodV:
		return reject(codeVersion, "v is %s, not 1", show(v))
	case !goodEncoding:
		return reject(codeEncoding, "encoding is %s, not json", show(encoding))
	}
	return nil
}

// refusePeer says why the client would close a WebSocket because of its peer; nil
// if it would not (rules R19, R21).
func (s *Server) refusePeer(req *http.Request) *Rejection {
	id, origin := s.opts.query(req).Get("client_id"), req.Header.Get("Origin")
	switch {
	case s.opts.Profile == ArRPC, s.opts.isOwn(id, origin):
		return nil
	case !s.opts.knowsClient(id):
		return reject(codeClientID, "client_id %s is not a known application", show(id))
	case !s.opts.allowsOrigin(origin):
		return reject(codeOrigin, "Origin %s is not registered", show(origin))
	}
	return nil
}

type webSocket struct {
	*socket
	ws *websocket.Conn
}

func (k *webSocket) read() {
	for {
		kind, body, err := k.ws.NextReader()
		if err != nil {
			return
		}
		if k.isClosing() {
			continue
		}
		injected := k.srv.draw(WebSocket, payloadEvent)
		if _, ok := k.srv.meetFault(WebSocket, injected, FaultDie); ok {
			_, _ = io.ReadFull(body, make([]byte, 1))
			k.conn.reset()
			return
		}
		k.limitRead(bodyTimeout)
		raw, err := io.ReadAll(io.LimitReader(body, int64(k.limit()+1)))
		arrived := k.conn.readAt()
		if err != nil {
			return
		}
		k.limitRead(0)
		p := Payload{Time: arrived, Transport: WebSocket, Conn: k.conn.id, ClientID: k.clientID, Raw: raw}
		if len(raw) > k.limit() {
			p.Raw = nil
		}
		if !k.handle(p, injected, k.badMessage(raw, kind)) {
			return
		}
	}
}

// badMessage says why a message is refused because of its form, not its content
// (rules R18, R47).
func (k *webSocket) badMessage(raw []byte, kind int) *Rejection {
	switch {
	case len(raw) > k.limit():
		return reject(codeTooBig, "message: larger than %d bytes", k.limit())
	case kind == websocket.BinaryMessage && k.srv.opts.Profile != ArRPC:
		return reject(codeBadJSON, "message: binary frame, not text")
	case k.srv.opts.Profile.isDesktop() && !utf8.Valid(raw):
		return reject(codeBadText, "message: not UTF-8")
	}
	return nil
}

// limit is the size of the largest message.
func (k *webSocket) limit() int { return k.srv.opts.Profile.limits().maxText }

func (k *webSocket) pong(data string) error {
	if !k.writesNoMore.Load() {
		_ = k.ws.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(writeTimeout))
	}
	return nil
}

// repeatClose answers a close as the client's library does, with code and reason.
func (k *webSocket) repeatClose(code int, reason string) error {
	return k.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(closeTimeout))
}

func (k *webSocket) writeMessage(text []byte) error {
	_ = k.ws.SetWriteDeadline(time.Now().Add(writeTimeout))
	return k.ws.WriteMessage(websocket.TextMessage, text)
}

// writeHalf builds its own frame, since the library only writes whole ones.
func (k *webSocket) writeHalf(text []byte) error {
	const finalText, length16, length64 = 0x81, 126, 127
	head := []byte{finalText, byte(len(text))}
	switch {
	case len(text) > 0xffff:
		head = binary.BigEndian.AppendUint64([]byte{finalText, length64}, uint64(len(text)))
	case len(text) >= length16:
		head = binary.BigEndian.AppendUint16([]byte{finalText, length16}, uint16(len(text)))
	}
	_ = k.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := k.conn.Write(append(head, text[:len(text)/2]...))
	return err
}

func (k *webSocket) writeClose(code int, reason string) error {
	const room = 123 // bytes of a control frame beside the code
	if len(reason) > room {
		reason = strings.ToValidUTF8(reason[:room], "")
	}
	return k.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(closeTimeout))
}
