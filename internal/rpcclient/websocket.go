package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// openWebSocket connects and waits for READY: what is sent earlier is lost (rules R15 to R17).
// ctx bounds both.
func openWebSocket(ctx context.Context, t target) (link, error) {
	header := http.Header{}
	if t.Origin != "" {
		header.Set("Origin", t.Origin)
	}
	greeting := &boundedConn{target: t}
	// A list that fits the buffer leaves as one frame in one write.
	dialer := websocket.Dialer{NetDialContext: greeting.dial, WriteBufferSize: 32 << 10}
	conn, resp, err := dialer.DialContext(ctx, "ws://"+t.addr()+"/?"+t.query()+"&encoding=json", header)
	greeting.unbind()
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("websocket to %s: %w: HTTP %d", t.addr(), errNotRPC, resp.StatusCode)
		}
		return nil, fmt.Errorf("websocket to %s: %w", t.addr(), asNoAnswer(ctx, err))
	}
	conn.SetReadLimit(maxAnswer)
	if err := awaitReady(ctx, conn.NetConn(), func() (message, error) { return readMessage(conn) }); err != nil {
		conn.Close()
		return nil, fmt.Errorf("websocket to %s: %w", t.addr(), err)
	}
	return newWebSocketLink(conn), nil
}

func newWebSocketLink(conn *websocket.Conn) link {
	l := &streamLink{conn: conn.NetConn(), next: func() (message, error) { return readMessage(conn) }}
	l.send = func(payload []byte) error {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout)) // it sets that of the connection by its own
		return conn.WriteMessage(websocket.TextMessage, payload)
	}
	l.sendClose = func() { // heard where the peer still reads
		end := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = conn.WriteControl(websocket.CloseMessage, end, time.Now().Add(finalWriteTimeout))
	}
	l.start()
	return l
}

// boundedConn is a connection for the time of a handshake: it ends with ctx, and gives away no
// more than maxAnswer bytes, because a header need not have an end.
type boundedConn struct {
	net.Conn
	target    target
	unlimited bool // no limit any more
	left      int
	stop      func() bool
}

func (c *boundedConn) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := c.target.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.Conn, c.left = conn, maxAnswer
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return c, nil
}

// unbind ends the handshake: ctx and the limit hold no longer.
func (c *boundedConn) unbind() {
	c.unlimited = true
	if c.stop != nil {
		c.stop()
	}
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.unlimited {
		return c.Conn.Read(p)
	}
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: a handshake of more than %d bytes", errNotRPC, maxAnswer)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// readMessage reads one text frame; its errors are typed where the server gave a close code
// (rules R18, R21).
func readMessage(conn *websocket.Conn) (message, error) {
	kind, r, err := conn.NextReader()
	var b []byte
	if err == nil {
		// The limit again: that of conn counts bytes of the network, which a server that
		// compresses unasked can make far more of.
		b, err = io.ReadAll(io.LimitReader(r, maxAnswer+1))
	}
	if err != nil {
		var closed *websocket.CloseError
		if errors.As(err, &closed) && refuses(closed.Code) {
			return message{}, &refusalError{Phase: phaseConnect, Code: closed.Code, Message: closed.Text}
		}
		return message{}, fmt.Errorf("%w: %w", errLost, err)
	}
	if len(b) > maxAnswer {
		return message{}, fmt.Errorf("%w: a message of more than %d bytes", errNotRPC, maxAnswer)
	}
	if kind != websocket.TextMessage {
		return message{}, fmt.Errorf("%w: a binary frame", errNotRPC)
	}
	return parseMessage(b)
}

// refuses tells the close codes with which the client refuses from those of any server that
// merely ends, as "going away" or none at all.
func refuses(code int) bool {
	return code == codeClosed || code == codeUnsupportedData || code >= codeInvalidClientID
}
