package link

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// frameTimeout is how long the client may take from the first byte of a message to the last.
const frameTimeout = 5 * time.Second

// ipcLink is a link over a unix socket or a named pipe.
type ipcLink struct {
	streamLink
	reader *bufio.Reader
}

// OpenIPC sends the handshake on conn, a fresh connection to a client, and waits for READY
// (rules R17, R73). ctx bounds both. It takes ownership of conn.
func OpenIPC(ctx context.Context, conn net.Conn, clientID string) (Link, error) {
	l := &ipcLink{reader: bufio.NewReader(conn)}
	l.conn, l.next, l.send = conn, l.message, func(payload []byte) error { return l.sendFrame(opFrame, payload) }
	hello := fmt.Appendf(nil, `{"v":1,"client_id":%q}`, clientID)
	err := l.write(ctx, func() error { return l.sendFrame(opHandshake, hello) })
	heard := false
	if err == nil {
		err = awaitReady(ctx, conn, func() (message, error) {
			_, err := l.reader.Peek(1)
			heard = heard || err == nil
			return l.frame()
		})
	}
	if errors.Is(err, ErrLost) && !heard {
		err = fmt.Errorf("%w, %w", err, ErrUnheard)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("IPC handshake: %w", err)
	}
	l.start()
	return l, nil
}

func (l *ipcLink) Deliver(ctx context.Context, nonce string, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("send device list: %d bytes, the client takes %d at most", len(payload), maxFrame)
	}
	return l.streamLink.Deliver(ctx, nonce, payload)
}

// message reads one message. It waits forever for the first byte, and frameTimeout for the rest.
func (l *ipcLink) message() (message, error) {
	if _, err := l.reader.Peek(1); err != nil {
		return message{}, fmt.Errorf("%w: %w", ErrLost, err)
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(frameTimeout))
	m, err := l.frame()
	if err != nil {
		_ = l.conn.Close()
	}
	_ = l.conn.SetReadDeadline(time.Time{})
	return m, err
}

// frame reads one frame. It answers a ping, and returns the message in any other frame. A reason that the
// client gives for closing becomes a typed error (rules R21, R74).
func (l *ipcLink) frame() (message, error) {
	op, body, err := readFrame(l.reader)
	if err != nil {
		return message{}, err
	}
	switch op {
	case opFrame:
		return parseMessage(body)
	case opClose:
		var f fault
		if err := json.Unmarshal(body, &f); err != nil || f.Code == nil {
			return message{}, fmt.Errorf("%w: closed by the client without a reason", ErrLost)
		}
		return message{}, &Refusal{Phase: PhaseConnect, Code: *f.Code, Message: f.Message}
	case opPing:
		return message{}, l.write(context.Background(), func() error { return l.sendFrame(opPong, body) })
	default:
		return message{}, nil // nothing that matters here
	}
}

func (l *ipcLink) sendFrame(op uint32, body []byte) error {
	_, err := l.conn.Write(encodeFrame(op, body))
	return err
}
