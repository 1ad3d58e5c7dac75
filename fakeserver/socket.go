package fakeserver

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	closeTimeout = 2 * time.Second // for the peer's half of a closing handshake
	queued       = 256             // how many answers of one socket may wait to be sent
)

// A socket is one WebSocket or IPC connection. One goroutine reads, another
// writes, so that a late answer does not delay the next payload.
type socket struct {
	srv                *Server
	conn               *conn
	wire               wire
	transport          Transport
	readyMessage       string
	clientID           string
	out                chan outgoing
	tasks              sync.WaitGroup
	packetsBeforeReady atomic.Int64  // packets that had come before READY was sent
	writesNoMore       atomic.Bool   // half a message was sent, or the peer no longer reads: nothing may follow
	ended              chan struct{} // closed under mu when the server closes the connection

	mu sync.Mutex
}

func newSocket(s *Server, c *conn, t Transport, readyMessage string) *socket {
	return &socket{
		srv: s, conn: c, transport: t, readyMessage: readyMessage, out: make(chan outgoing, queued), ended: make(chan struct{}),
	}
}

type wire interface {
	writeMessage(text []byte) error           // a whole message
	writeHalf(text []byte) error              // the beginning of a message
	writeClose(code int, reason string) error // the server's half of a closing handshake
}

// An outgoing message is sent when it is due, in order.
type outgoing struct {
	due   time.Time
	data  []byte
	ready bool // it is READY
	half  bool // only half of it is sent
}

// admit sends READY when the socket's turn comes, or refuses the socket. Some
// refusals are known at once, others only when its turn has come.
func (k *socket) admit(injected Fault, refusal *Rejection, later func() *Rejection) {
	if f, ok := k.srv.meetFault(k.transport, injected, FaultCloseCode, FaultLogin); ok {
		code := f.Code
		if f.Kind == FaultLogin {
			code = codeLogin
		}
		refusal = reject(code, "fault %s", f.Kind)
	}
	if refusal != nil {
		k.refuse(refusal)
		return
	}
	turn := k.srv.limiter.join(k.clientID)
	select {
	case <-turn.granted:
		k.sendReady(injected, later())
	default:
		k.tasks.Go(func() {
			switch {
			case turn.wait(k.conn.closed, k.ended):
				k.sendReady(injected, later())
			case !k.srv.opts.Profile.limits().closedKeepsPlace:
				turn.cancel()
			}
		})
	}
}

func (k *socket) sendReady(injected Fault, refusal *Rejection) {
	cached := k.transport == IPC && k.srv.opts.Profile.isDesktop() && k.srv.hasLookedUp(k.clientID) // rule R81
	if !cached || injected.Kind == FaultOffline {
		if _, ok := k.srv.meetFault(k.transport, injected, FaultOffline); ok {
			refusal = reject(codeClientID, offlineMessage)
		}
	}
	if refusal != nil {
		k.refuse(refusal)
		return
	}
	k.srv.lookedUp(k.clientID)
	m := outgoing{data: []byte(k.readyMessage), ready: true}
	if f, ok := k.srv.meetFault(k.transport, injected, FaultReadyLate, FaultReadyNever); ok {
		if f.Kind == FaultReadyNever {
			return
		}
		m.due = time.Now().Add(f.Delay)
	}
	k.send(m)
}

func (k *socket) refuse(r *Rejection) {
	k.srv.log.Info(string(k.transport)+" refused", "conn", k.conn.id, "code", r.Code, "reason", r.Error())
	k.close(r.Code, r.Error())
}

func (k *socket) send(m outgoing) {
	select {
	case k.out <- m:
	case <-k.conn.closed:
	}
}

func (k *socket) write() {
	for {
		select {
		case m := <-k.out:
			if !k.conn.sleep(m.due, nil) {
				return
			}
			if err := k.put(m); err != nil && !k.isClosing() {
				if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
					_ = k.conn.Close()
					return
				}
				k.writesNoMore.Store(true) // the peer has gone; what it sent before still counts (rule R89)
			}
		case <-k.conn.closed:
			return
		}
	}
}

func (k *socket) put(m outgoing) error {
	switch {
	case k.writesNoMore.Load() || k.isClosing():
		return nil
	case m.half:
		k.writesNoMore.Store(true)
		return k.wire.writeHalf(m.data)
	case m.ready:
		k.packetsBeforeReady.Store(k.conn.count.Load())
		k.conn.ready.Store(true)
		k.srv.changed.Notify()
	}
	return k.wire.writeMessage(m.data)
}

// handle judges a payload and answers it. It reports whether the connection goes
// on.
func (k *socket) handle(p Payload, injected Fault, refusal *Rejection) bool {
	if refusal == nil && k.tooEarly() {
		refusal = reject(0, "message: sent before READY, lost")
	}
	noScope := k.transport == WebSocket && k.srv.opts.Profile.isDesktop() // rule R20
	v := k.srv.receive(delivery{Payload: p, refusal: refusal, injected: injected, noScope: noScope})
	switch {
	case v.do == ignore:
		return true
	case v.do == hangUp:
		return false
	case v.do == crash:
		k.conn.run.closeConns()
		return false
	case v.close != 0:
		k.close(v.close, v.reason)
		return true // until the peer has closed its side
	}
	due := p.Time.Add(v.delay)
	k.send(outgoing{due: due, data: v.body, half: v.half})
	if v.again != nil {
		k.send(outgoing{due: due, data: v.again})
	}
	return true
}

// tooEarly reports whether what was just read had arrived before READY was sent (rule R16).
func (k *socket) tooEarly() bool {
	return !k.conn.ready.Load() || k.conn.packet.Load() <= k.packetsBeforeReady.Load()
}

// limitRead sets how long the peer may take to finish its message; 0: forever. It
// changes nothing on a connection that is being closed.
func (k *socket) limitRead(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.isClosing():
	case d == 0:
		_ = k.conn.SetReadDeadline(time.Time{})
	default:
		_ = k.conn.SetReadDeadline(time.Now().Add(d))
	}
}

// close does the server's half of the closing handshake. What the peer still sends
// has to be read and dropped: closing on unread data would reset the connection,
// and the peer might not see the code.
func (k *socket) close(code int, reason string) {
	k.mu.Lock()
	if k.isClosing() {
		k.mu.Unlock()
		return
	}
	close(k.ended)
	_ = k.conn.SetReadDeadline(time.Now().Add(closeTimeout))
	k.mu.Unlock()
	if k.writesNoMore.Load() || k.wire.writeClose(code, reason) != nil {
		_ = k.conn.Close()
	}
}

// isClosing reports whether the server is closing the connection: it then ignores
// what the peer sends.
func (k *socket) isClosing() bool { return isClosed(k.ended) }
