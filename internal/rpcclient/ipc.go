package rpcclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"
)

// frameTimeout is how long a client may take from the first byte of a message to its last.
const frameTimeout = 5 * time.Second

// ipcLink is a link over a unix socket or a named pipe. One goroutine reads; deliver writes,
// and so does the reader, to answer a ping.
type ipcLink struct {
	inbox
	conn   net.Conn
	reader *bufio.Reader

	writing sync.Mutex
}

// openIPC says who we are on conn, which is a fresh connection to a client, and waits for
// READY (rules R17, R73). ctx bounds both. It owns conn.
func openIPC(ctx context.Context, conn net.Conn, clientID string) (*ipcLink, error) {
	l := &ipcLink{inbox: newInbox(), conn: conn, reader: bufio.NewReader(conn)}
	if err := l.greet(ctx, clientID); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("IPC handshake: %w", err)
	}
	go l.read()
	return l, nil
}

func (l *ipcLink) greet(ctx context.Context, clientID string) error {
	hello := fmt.Appendf(nil, `{"v":1,"client_id":%q}`, clientID)
	if err := l.write(ctx, opHandshake, hello); err != nil {
		return err
	}
	return awaitReady(ctx, l.conn, l.frame)
}

// frame reads one frame and answers it if it is a ping; else it returns the message in it. Its
// errors are typed where the client gave a reason (rules R21, R74).
func (l *ipcLink) frame() (message, error) {
	op, body, err := readFrame(l.reader)
	if err != nil {
		return message{}, err
	}
	switch op {
	case opFrame:
		m, err := parseMessage(body)
		if err != nil {
			return message{}, fmt.Errorf("%w: %w", ErrNotRPC, err)
		}
		return m, nil
	case opClose:
		return message{}, closedBy(body)
	case opPing:
		return message{}, l.write(context.Background(), opPong, body)
	default:
		return message{}, nil // says nothing to us
	}
}

// closedBy is the error for the body of a CLOSE.
func closedBy(body []byte) error {
	var f fault
	if err := json.Unmarshal(body, &f); err != nil || f.Code == nil {
		return fmt.Errorf("%w: closed by the client without a reason", ErrLost)
	}
	return &Error{Phase: PhaseConnect, Code: *f.Code, Message: f.Message}
}

// read passes answers on until the connection ends. Between messages it waits without end; a
// message that has begun has to end soon.
func (l *ipcLink) read() {
	for {
		if _, err := l.reader.Peek(1); err != nil {
			l.end(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
		_ = l.conn.SetReadDeadline(time.Now().Add(frameTimeout))
		m, err := l.frame()
		if err != nil {
			_ = l.conn.Close()
			l.end(afterReady(err))
			return
		}
		_ = l.conn.SetReadDeadline(time.Time{})
		l.put(m)
	}
}

func (l *ipcLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("send device list: %d bytes, the client takes %d at most", len(payload), maxFrame)
	}
	l.want(nonce)
	if err := l.write(ctx, opFrame, payload); err != nil {
		return fmt.Errorf("send device list: %w", err)
	}
	return l.await(ctx)
}

// write sends one frame. When ctx ends it is cut short, but not at once: half a frame would
// make the connection useless for the empty list that may have to follow.
func (l *ipcLink) write(ctx context.Context, op uint32, body []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetWriteDeadline(time.Now().Add(lastWrite)) })
	defer stop()
	if _, err := l.conn.Write(encodeFrame(op, body)); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	_ = l.conn.SetWriteDeadline(time.Time{}) // else its timer would wake us for nothing
	return nil
}

// close ends the connection and waits for the reader.
func (l *ipcLink) close() {
	_ = l.conn.Close()
	<-l.gone
}
