package conform

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"sidetone/fakeserver/internal/ipcframe"
)

// maxMessage is the largest message that a client accepts, in bytes (rule R47).
const maxMessage = 3 << 20

// maxFrame is the largest message that is read, in bytes.
const maxFrame = 4 << 20

type eventKind int

const (
	eventText   eventKind = iota // a message
	eventOther                   // a frame of another kind; data is its content
	eventPong                    // data is what it echoes
	eventClosed                  // end holds the outcome; nothing follows
)

// An event is something that came on an open connection.
type event struct {
	kind eventKind
	data []byte
	end  outcome
}

// A link is an open WebSocket or IPC connection. One goroutine reads it until it ends, so that
// giving up on one answer does not end the connection.
type link struct {
	transport Transport
	conn      net.Conn                                // for anything but messages
	write     func(kind uint32, message []byte) error // kind is an opcode or a WebSocket message type
	in        chan event
	done      chan struct{}
	once      sync.Once
	reader    sync.WaitGroup
	dead      bool            // the server closed it
	nonces    map[string]bool // of commands sent

	readyAnswer answer // READY; nil until it came
}

// newLink starts reading; next returns the next event, finally an eventClosed.
func newLink(t Transport, conn net.Conn, next func() event, write func(uint32, []byte) error) *link {
	l := &link{
		transport: t, conn: conn, write: write,
		in: make(chan event), done: make(chan struct{}), nonces: map[string]bool{},
	}
	l.reader.Go(func() {
		for {
			e := next()
			select {
			case l.in <- e:
			case <-l.done:
				return
			}
			if e.kind == eventClosed {
				return
			}
		}
	})
	return l
}

// close closes the connection and waits for the reader.
func (l *link) close() {
	l.once.Do(func() {
		close(l.done)
		_ = l.conn.Close()
	})
	l.reader.Wait()
}

// send sends a message. A failure shows when reading.
func (l *link) send(kind uint32, message []byte, wait time.Duration) {
	_ = l.conn.SetWriteDeadline(time.Now().Add(wait))
	_ = l.write(kind, message)
}

// sendBytes sends anything but a single message. A failure shows when reading.
func (l *link) sendBytes(data []byte, wait time.Duration) {
	_ = l.conn.SetWriteDeadline(time.Now().Add(wait))
	_, _ = l.conn.Write(data)
}

// sendCommand sends a command, whose answer may come at any time.
func (l *link) sendCommand(c command, wait time.Duration) {
	l.nonces[c.nonce] = true
	var kind uint32 = websocket.TextMessage
	if l.transport == IPC {
		kind = ipcframe.Frame
	}
	l.send(kind, []byte(c.text), wait)
}

// await reads events until match has an outcome, the connection is closed, or wait is over.
func (l *link) await(ctx context.Context, wait time.Duration, match func(event) (outcome, bool)) (outcome, error) {
	began := time.Now()
	timeout := time.After(wait)
	for {
		if l.dead {
			return outcome{got: hungUp, waited: time.Since(began)}, nil
		}
		select {
		case e := <-l.in:
			o, ok := e.end, e.kind == eventClosed
			l.dead = ok
			if !ok {
				o, ok = match(e)
			}
			if ok {
				o.waited = time.Since(began)
				return o, nil
			}
		case <-timeout:
			return outcome{got: silence, waited: time.Since(began)}, nil
		case <-ctx.Done():
			return outcome{}, context.Cause(ctx)
		}
	}
}

// awaitReady waits for READY (rules R16, R17).
func (l *link) awaitReady(ctx context.Context, wait time.Duration) (outcome, error) {
	o, err := l.await(ctx, wait, func(e event) (outcome, bool) {
		a, ok := readAnswer(e.data)
		if e.kind != eventText || !ok || a.text("cmd") != "DISPATCH" || a.text("evt") != "READY" {
			return outcome{got: "not READY", detail: compact(e.data)}, true
		}
		l.readyAnswer = a
		return outcome{got: ready}, true
	})
	if o.got == silence {
		o.got = openSilent
	}
	return o, err
}

// ask sends a command and waits for its answer. It skips late answers to earlier commands.
func (l *link) ask(ctx context.Context, c command, wait time.Duration) (outcome, error) {
	l.sendCommand(c, wait)
	return l.await(ctx, wait, func(e event) (outcome, bool) {
		if e.kind != eventText {
			return outcome{got: "another kind of frame"}, true
		}
		a, ok := readAnswer(e.data)
		switch {
		case !ok:
			return outcome{got: "answer is not JSON", detail: compact(e.data)}, true
		case a.event() && (c.nonce == "" || a.text("nonce") != c.nonce), a.text("nonce") != c.nonce && l.nonces[a.text("nonce")]:
			return outcome{}, false // an answer may have DISPATCH for its cmd, too
		}
		return a.judge(c.wantCmd, c.wantNonce), true
	})
}

// askAfter sends a second command and tells which of the two is answered.
func (l *link) askAfter(ctx context.Context, first, second command, wait time.Duration) (outcome, error) {
	l.sendCommand(second, wait)
	return l.await(ctx, wait, func(e event) (outcome, bool) {
		a, _ := readAnswer(e.data)
		switch nonce := a.text("nonce"); {
		case e.kind == eventText && nonce == first.nonce:
			return outcome{got: taken}, true
		case e.kind == eventText && nonce == second.nonce:
			return outcome{got: lost}, true
		}
		return outcome{}, false
	})
}

// askBehind sends a message that has no nonce, then a command, and tells whether only that is answered.
func (l *link) askBehind(ctx context.Context, message string, c command, wait time.Duration) (outcome, error) {
	l.sendCommand(command{text: message}, wait)
	l.sendCommand(c, wait)
	return l.await(ctx, wait, func(e event) (outcome, bool) {
		if a, _ := readAnswer(e.data); e.kind == eventText && a.text("nonce") == c.nonce {
			return outcome{got: overlooked}, true
		}
		return reaction(e)
	})
}

// reaction accepts any answer.
func reaction(e event) (outcome, bool) {
	a, ok := readAnswer(e.data)
	switch {
	case e.kind == eventPong:
		return outcome{got: pong}, true
	case !ok || e.kind != eventText:
		return outcome{got: "answer is not JSON", detail: compact(e.data)}, true
	case a.text("evt") == "ERROR":
		return a.judge("", ""), true
	}
	return outcome{got: "answered", detail: compact(e.data)}, !a.event()
}
