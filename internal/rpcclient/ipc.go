package rpcclient

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"
)

// frameTimeout is how long a client may take from the first byte of a message to its last.
const frameTimeout = 5 * time.Second

// ipcLink is a link over a unix socket or a named pipe.
type ipcLink struct {
	streamLink
	reader *bufio.Reader
}

// openIPC says who we are on conn, which is a fresh connection to a client, and waits for
// READY (rules R17, R73). ctx bounds both. It owns conn.
func openIPC(ctx context.Context, conn net.Conn, clientID string) (link, error) {
	l := &ipcLink{reader: bufio.NewReader(conn)}
	l.conn, l.next, l.send = conn, l.message, func(payload []byte) error { return l.sendFrame(opFrame, payload) }
	hello := fmt.Appendf(nil, `{"v":1,"client_id":%q}`, clientID)
	err := l.write(ctx, func() error { return l.sendFrame(opHandshake, hello) })
	if err == nil {
		err = awaitReady(ctx, conn, l.frame)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("IPC handshake: %w", err)
	}
	l.start()
	return l, nil
}

func (l *ipcLink) deliver(ctx context.Context, nonce string, payload []byte) error {
	if len(payload) > maxFrame {
		return fmt.Errorf("send device list: %d bytes, the client takes %d at most", len(payload), maxFrame)
	}
	return l.streamLink.deliver(ctx, nonce, payload)
}

// message reads one message. Until it begins it waits without end; then it has to end soon.
func (l *ipcLink) message() (message, error) {
	if _, err := l.reader.Peek(1); err != nil {
		return message{}, fmt.Errorf("%w: %w", errLost, err)
	}
	_ = l.conn.SetReadDeadline(time.Now().Add(frameTimeout))
	m, err := l.frame()
	if err != nil {
		_ = l.conn.Close()
	}
	_ = l.conn.SetReadDeadline(time.Time{})
	return m, err
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
		return parseMessage(body)
	case opClose:
		return message{}, closedBy(body)
	case opPing:
		return message{}, l.write(context.Background(), func() error { return l.sendFrame(opPong, body) })
	default:
		return message{}, nil // says nothing to us
	}
}

// closedBy is the error for the body of a CLOSE.
func closedBy(body []byte) error {
	var f fault
	if err := json.Unmarshal(body, &f); err != nil || f.Code == nil {
		return fmt.Errorf("%w: closed by the client without a reason", errLost)
	}
	return &refusalError{Phase: phaseConnect, Code: *f.Code, Message: f.Message}
}

func (l *ipcLink) sendFrame(op uint32, body []byte) error {
	_, err := l.conn.Write(encodeFrame(op, body))
	return err
}
