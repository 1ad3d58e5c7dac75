package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
)

// A pipe is an open IPC connection. A frame is an opcode and a length, both 32-bit
// little-endian, and a JSON text.
type pipe struct{ net.Conn }

func (p pipe) send(op uint32, data []byte) error {
	_, err := p.Write(ipcframe.Encode(op, data))
	return err
}

func (p pipe) next() event {
	h, err := ipcframe.ReadHeader(p)
	var data []byte
	if err == nil {
		if data, err = ipcframe.ReadBody(p, h, maxFrame); err != nil && !errors.Is(err, ipcframe.ErrTooBig) {
			err = io.ErrUnexpectedEOF
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return event{kind: eventClosed, end: outcome{got: unfinished, detail: "then the connection was closed"}}
	case errors.Is(err, ipcframe.ErrTooBig):
		return event{kind: eventClosed, end: outcome{got: tooLarge}}
	case err != nil:
		return event{kind: eventClosed, end: failure(err, false)}
	}
	switch h.Op {
	case ipcframe.Frame:
		return event{kind: eventText, data: data}
	case ipcframe.Pong:
		return event{kind: eventPong, data: data}
	case ipcframe.Close:
		return event{kind: eventClosed, end: closeFrame(data)}
	}
	return event{kind: eventOther, data: data}
}

func closeFrame(data []byte) outcome {
	var reason struct {
		Code    *int
		Message string
	}
	if json.Unmarshal(data, &reason) != nil || reason.Code == nil {
		return outcome{got: "close without a code", detail: compact(data)}
	}
	return outcome{got: closeWith(*reason.Code), detail: sanitize(reason.Message)}
}

// dialPipe connects without a handshake, which costs no token.
func (r *run) dialPipe(ctx context.Context, wait time.Duration) (*link, error) {
	c, err := r.dial(ctx, networkIPC, r.target.IPC, wait)
	if err != nil {
		return nil, err
	}
	p := pipe{c}
	return newLink(IPC, c, p.next, p.send), nil
}

// handshake is the body of the first frame; a nil version is left out.
func handshake(v any, clientID any) []byte {
	if v == nil {
		return fmt.Appendf(nil, `{"client_id":%s}`, jsonOf(clientID))
	}
	return fmt.Appendf(nil, `{"v":%s,"client_id":%s}`, jsonOf(v), jsonOf(clientID))
}

// handshakeTime is how long a client waits for the handshake on a connection (rule R80).
const handshakeTime = 10 * time.Second

// openPipe connects and sends the handshake.
func (r *run) openPipe(ctx context.Context, o opening, wait time.Duration) (*link, outcome, error) {
	began := time.Now()
	l, err := r.dialPipe(ctx, wait)
	if err != nil {
		return nil, outcome{}, err
	}
	var id any = o.clientID
	if o.asNumber {
		id = json.RawMessage(o.clientID)
	}
	l.send(ipcframe.Handshake, handshake(o.v, id), wait-time.Since(began))
	got, err := l.awaitReady(ctx, wait-time.Since(began))
	return l, got, err
}
