package conform

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Opcodes of IPC frames.
const (
	opHandshake = iota
	opFrame
	opClose
	opPing
	opPong
)

// A pipe is an open IPC connection: frames of an opcode and a length, each
// int32 little endian, and a JSON text.
type pipe struct{ net.Conn }

func (p pipe) send(op int, data []byte, deadline time.Time) error {
	frame := make([]byte, 8, 8+len(data))
	binary.LittleEndian.PutUint32(frame, uint32(op))
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(data)))
	_ = p.SetWriteDeadline(deadline)
	_, err := p.Write(append(frame, data...))
	return err
}

func (p pipe) next() event {
	op, data, err := p.receive()
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return event{kind: eventClosed, end: outcome{got: unfinished, detail: "then the connection was closed"}}
	case err != nil:
		return event{kind: eventClosed, end: failure(err, false)}
	case op == opFrame:
		return event{kind: eventText, data: data}
	case op == opPong:
		return event{kind: eventPong, data: data}
	case op == opClose:
		return event{kind: eventClosed, end: closeFrame(data)}
	}
	return event{kind: eventOther, data: data}
}

func (p pipe) receive() (op uint32, data []byte, err error) {
	var head [8]byte
	if _, err := io.ReadFull(p, head[:]); err != nil {
		return 0, nil, err
	}
	op = binary.LittleEndian.Uint32(head[:])
	size := binary.LittleEndian.Uint32(head[4:])
	if size > maxFrame {
		return op, nil, errTooLarge
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(p, data); err != nil {
		return op, nil, io.ErrUnexpectedEOF
	}
	return op, data, nil
}

func closeFrame(data []byte) outcome {
	var reason struct {
		Code    *int
		Message string
	}
	if json.Unmarshal(data, &reason) != nil || reason.Code == nil {
		return outcome{got: "close without a code", detail: compact(data)}
	}
	return outcome{got: closeWith(*reason.Code), detail: harmless(reason.Message)}
}

// dialPipe connects without a handshake, which costs no token.
func (r *run) dialPipe(ctx context.Context, wait time.Duration) (*link, pipe, error) {
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	c, err := r.opts.Dial(within, networkIPC, r.target.IPC)
	if err != nil {
		return nil, pipe{}, r.reached(ctx, r.target.IPC, err)
	}
	p := pipe{c}
	write := func(data []byte, deadline time.Time) error { return p.send(opFrame, data, deadline) }
	return newLink(IPC, p.next, write, func() { _ = c.Close() }), p, nil
}

func handshake(v int, clientID string) []byte {
	return fmt.Appendf(nil, `{"v":%d,"client_id":%q}`, v, clientID)
}

// openPipe connects and does the handshake, at the cost of a token. Without
// READY there is no link.
func (r *run) openPipe(ctx context.Context, v int, clientID string, p pass) (*link, pipe, outcome, error) {
	l, c, err := r.dialPipe(ctx, p.wait)
	if err != nil {
		return nil, pipe{}, outcome{}, err
	}
	_ = c.send(opHandshake, handshake(v, clientID), time.Now().Add(p.wait)) // a failure shows when reading
	o, hello, err := l.greeting(ctx, p.wait)
	p.heard(o)
	if err != nil || o.got != ready {
		l.close()
		return nil, pipe{}, o, err
	}
	r.hello[IPC] = hello
	var data answer
	if _ = json.Unmarshal(hello["data"], &data); data["user"] != nil && !data.null("user") {
		o.got = readyUser
	}
	return l, c, o, nil
}
