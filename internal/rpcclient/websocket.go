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

// writeTimeout bounds one write: a loopback peer that does not read for so long hangs.
const writeTimeout = 5 * time.Second

// lastWrite bounds a write for which there is no time left: on loopback that is plenty.
const lastWrite = 100 * time.Millisecond

// wsLink is a link over WebSocket. One goroutine reads; deliver writes.
type wsLink struct {
	inbox
	conn *websocket.Conn
}

// openWebSocket connects and waits for READY: what is sent earlier is lost (rules R15 to R17).
// ctx bounds both.
func openWebSocket(ctx context.Context, t target) (*wsLink, error) {
	header := http.Header{}
	if t.origin != "" {
		header.Set("Origin", t.origin)
	}
	greeting := &boundedConn{target: t}
	// A list that fits the buffer leaves as one frame in one write.
	dialer := websocket.Dialer{NetDialContext: greeting.dial, WriteBufferSize: 32 << 10}
	conn, resp, err := dialer.DialContext(ctx, "ws://"+t.addr+"/?"+t.query()+"&encoding=json", header)
	greeting.unbind()
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("websocket to %s: %w: HTTP %d", t.addr, ErrNotRPC, resp.StatusCode)
		}
		return nil, fmt.Errorf("websocket to %s: %w", t.addr, timeoutAs(ctx, err))
	}
	conn.SetReadLimit(maxAnswer)
	if err := awaitReady(ctx, conn.NetConn(), func() (message, error) { return readMessage(conn) }); err != nil {
		conn.Close()
		return nil, fmt.Errorf("websocket to %s: %w", t.addr, err)
	}
	return newWSLink(conn), nil
}

// newWSLink starts to read what comes after READY.
func newWSLink(conn *websocket.Conn) *wsLink {
	l := &wsLink{inbox: newInbox(), conn: conn}
	go l.read()
	return l
}

// boundedConn is a connection for the time of a handshake: it ends with ctx, and gives away no
// more than maxAnswer bytes, because a header need not have an end.
type boundedConn struct {
	net.Conn
	target target
	free   bool // no limit any more
	left   int
	stop   func() bool
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

// unbind lets go of ctx and of the limit.
func (c *boundedConn) unbind() {
	c.free = true
	if c.stop != nil {
		c.stop()
	}
}

func (c *boundedConn) Read(p []byte) (int, error) {
	if c.free {
		return c.Conn.Read(p)
	}
	if c.left <= 0 {
		return 0, fmt.Errorf("%w: a handshake of more than %d bytes", ErrNotRPC, maxAnswer)
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// timeoutAs turns an error that is only ctx's deadline into ErrNoAnswer.
func timeoutAs(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(context.Cause(ctx), ErrNoAnswer) {
		return ErrNoAnswer
	}
	return err
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
			return message{}, &Error{Phase: PhaseConnect, Code: closed.Code, Message: closed.Text}
		}
		return message{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	if len(b) > maxAnswer {
		return message{}, fmt.Errorf("%w: a message of more than %d bytes", ErrNotRPC, maxAnswer)
	}
	if kind != websocket.TextMessage {
		return message{}, fmt.Errorf("%w: a binary frame", ErrNotRPC)
	}
	m, err := parseMessage(b)
	if err != nil {
		return message{}, fmt.Errorf("%w: %w", ErrNotRPC, err)
	}
	return m, nil
}

// refuses tells the close codes with which the client refuses from those of any server that
// merely ends, as "going away" or none at all.
func refuses(code int) bool {
	return code == CodeClosed || code == CodeUnsupportedData || code >= CodeInvalidClientID
}

// read passes answers on until the connection ends.
func (l *wsLink) read() {
	for {
		m, err := readMessage(l.conn)
		if err != nil {
			l.end(afterReady(err))
			return
		}
		l.put(m)
	}
}

func (l *wsLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	l.want(nonce)
	if err := l.write(ctx, payload); err != nil {
		return fmt.Errorf("send device list: %w: %w", ErrLost, err)
	}
	return l.await(ctx)
}

// write sends one text frame. When ctx ends it is cut short, but not at once: half a frame
// would make the connection useless for the empty list that may have to follow.
func (l *wsLink) write(ctx context.Context, payload []byte) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.NetConn().SetWriteDeadline(time.Now().Add(lastWrite)) })
	defer stop()
	err := l.conn.WriteMessage(websocket.TextMessage, payload)
	_ = l.conn.NetConn().SetWriteDeadline(time.Time{}) // else its timer would wake us for nothing
	return err
}

// close ends the connection with a closing frame where the peer still reads, and waits for
// the reader.
func (l *wsLink) close() {
	_ = l.conn.WriteControl(websocket.CloseMessage,
		websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(lastWrite))
	_ = l.conn.Close()
	<-l.gone
}
