package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// OpenWebSocket connects and waits for READY: messages sent earlier are lost (rules R15 to R17).
// ctx bounds both.
func OpenWebSocket(ctx context.Context, t Target) (Link, error) {
	header := http.Header{}
	if t.Origin != "" {
		header.Set("Origin", t.Origin)
	}
	handshake := &limitedConn{left: maxAnswer}
	endHandshake := func() bool { return true }
	dialer := websocket.Dialer{
		NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := t.connect(ctx)
			if err != nil {
				return nil, err
			}
			handshake.Conn = conn
			endHandshake = context.AfterFunc(ctx, func() { _ = conn.Close() })
			return handshake, nil
		},
		WriteBufferSize: 32 << 10, // a list that fits leaves as one frame in one write
	}
	conn, resp, err := dialer.DialContext(ctx, "ws://"+t.Addr()+"/?"+t.query()+"&encoding=json", header)
	endHandshake()
	handshake.left = math.MaxInt
	if resp != nil {
		_ = resp.Body.Close()
	}
	switch {
	case err != nil && resp != nil:
		return nil, fmt.Errorf("websocket to %s: %w: HTTP %d", t.Addr(), ErrNotRPC, resp.StatusCode)
	case err != nil:
		return nil, fmt.Errorf("websocket to %s: %w", t.Addr(), asNoAnswer(ctx, err))
	}
	conn.SetReadLimit(maxAnswer)
	if err := awaitReady(ctx, conn.NetConn(), func() (message, error) { return readMessage(conn) }); err != nil {
		conn.Close()
		return nil, fmt.Errorf("websocket to %s: %w", t.Addr(), err)
	}
	return newWebSocketLink(conn), nil
}

func newWebSocketLink(conn *websocket.Conn) Link {
	l := &streamLink{conn: conn.NetConn(), next: func() (message, error) { return readMessage(conn) }}
	l.send = func(payload []byte) error {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // WriteMessage applies it to the connection
		return conn.WriteMessage(websocket.TextMessage, payload)
	}
	l.sendClose = func() {
		end := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, end, time.Now().Add(finalWriteTimeout))
	}
	l.start()
	return l
}

// limitedConn limits what a server can send during a handshake, because a header may be endless.
type limitedConn struct {
	net.Conn
	left int // bytes
}

func (c *limitedConn) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: a handshake of more than %d bytes", ErrNotRPC, maxAnswer)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// readMessage reads one text frame. A close code becomes a typed error (rules R18, R21).
func readMessage(conn *websocket.Conn) (message, error) {
	kind, r, err := conn.NextReader()
	var b []byte
	if err == nil {
		// The limit of conn counts bytes on the network. A server that compresses unasked could
		// send far more.
		b, err = io.ReadAll(io.LimitReader(r, maxAnswer+1))
	}
	if err != nil {
		if closed, ok := errors.AsType[*websocket.CloseError](err); ok && refuses(closed.Code) {
			return message{}, &Refusal{Phase: PhaseConnect, Code: closed.Code, Message: closed.Text}
		}
		return message{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if len(b) > maxAnswer {
		return message{}, fmt.Errorf("%w: a message of more than %d bytes", ErrNotRPC, maxAnswer)
	}
	if kind != websocket.TextMessage {
		return message{}, fmt.Errorf("%w: a binary frame", ErrNotRPC)
	}
	return parseMessage(b)
}

// refuses reports whether the client refuses with this close code. Others, such as "going away", mean
// that a server merely ends.
func refuses(code int) bool {
	return code == CodeClosed || code == CodeUnsupportedData || code >= CodeInvalidClientID
}
