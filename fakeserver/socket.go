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
	queued       = 256             // answers of one socket that may wait to be sent
)

// A socket is one WebSocket or IPC connection. One goroutine reads, another
// writes, so that a late answer does not keep the next payload waiting.
type socket struct {
	srv                *Server
	conn               *conn
	wire               wire
	transport          Transport
	hello              []byte // READY
	clientID           string
	out                chan outgoing
	tasks              sync.WaitGroup
	ready              atomic.Bool   // READY was sent
	packetsBeforeReady atomic.Int64  // packets that had come by then
	writesNoMore       atomic.Bool   // half a message was sent, or the peer hears no more: not a word more
	ended              chan struct{} // closed with over
	readyWaitOver      chan struct{} // closed when READY was sent, or a fault keeps it back
	once               sync.Once

	mu   sync.Mutex
	over bool // the server closes the connection; guarded by mu
}

func newSocket(s *Server, c *conn, t Transport, hello string) socket {
	return socket{
		srv: s, conn: c, transport: t, hello: []byte(hello), out: make(chan outgoing, queued),
		ended: make(chan struct{}), readyWaitOver: make(chan struct{}),
	}
}

// endReadyWait ends the wait for READY.
func (k *socket) endReadyWait() { k.once.Do(func() { close(k.readyWaitOver) }) }

// A wire puts messages on the connection of a socket.
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
	half  bool // it breaks off
}

// admit lets the socket in when its turn comes, or turns it away. Some
// refusals are known at once, others when its turn has come.
func (k *socket) admit(injected Fault, refusal *Rejection, later func() *Rejection) {
	if f, ok := k.srv.meetFault(k.transport, injected, FaultCloseCode, FaultLogin); ok {
		code := f.Code
		if f.Kind == FaultLogin {
			code = codeLogin
		}
		refusal = reject(code, "fault %s", f.Kind)
	}
	if refusal != nil {
		k.turnAway(refusal)
		return
	}
	turn := k.srv.limiter.join(k.clientID)
	select {
	case <-turn.granted:
		k.greet(injected, later())
	default:
		k.tasks.Go(func() {
			if turn.wait(k.conn.closed, k.ended) {
				k.greet(injected, later())
			}
		})
	}
}

func (k *socket) greet(injected Fault, refusal *Rejection) {
	if !k.cached() || injected.Kind == FaultOffline {
		if _, ok := k.srv.meetFault(k.transport, injected, FaultOffline); ok {
			refusal = reject(codeClientID, offlineMessage)
		}
	}
	if refusal != nil {
		k.turnAway(refusal)
		return
	}
	k.srv.lookedUp(k.clientID)
	hello := outgoing{data: k.hello, ready: true}
	if f, ok := k.srv.meetFault(k.transport, injected, FaultReadyLate, FaultReadyNever); ok {
		k.endReadyWait()
		if f.Kind == FaultReadyNever {
			return
		}
		hello.due = time.Now().Add(f.Delay)
	}
	k.send(hello)
}

// cached reports whether the client lets the peer in without looking its
// application up (rule R81).
func (k *socket) cached() bool {
	return k.transport == IPC && k.srv.opts.Profile.isDesktop() && k.srv.hasLookedUp(k.clientID)
}

func (k *socket) turnAway(r *Rejection) {
	k.srv.log.Info(string(k.transport)+" refused", "conn", k.conn.id, "code", r.Code, "reason", r.Error())
	k.shut(r.Code, r.Error())
}

func (k *socket) send(m outgoing) {
	select {
	case k.out <- m:
	case <-k.conn.closed:
	}
}

// write sends what is due until the connection ends.
func (k *socket) write() {
	for {
		select {
		case m := <-k.out:
			if !k.conn.sleep(m.due, nil) {
				return
			}
			if err := k.put(m); err != nil && !k.ending() {
				if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
					_ = k.conn.Close()
					return
				}
				k.writesNoMore.Store(true) // the peer has gone; what it said before still counts (rule R89)
			}
		case <-k.conn.closed:
			return
		}
	}
}

func (k *socket) put(m outgoing) error {
	switch {
	case k.writesNoMore.Load() || k.ending():
		return nil
	case m.half:
		k.writesNoMore.Store(true)
		return k.wire.writeHalf(m.data)
	case m.ready:
		k.markReady()
	}
	return k.wire.writeMessage(m.data)
}

func (k *socket) markReady() {
	k.packetsBeforeReady.Store(k.conn.count.Load())
	k.ready.Store(true)
	k.endReadyWait()
	k.srv.mu.Lock()
	defer k.srv.mu.Unlock()
	k.conn.ready = true
	k.srv.changed.Notify()
}

// take judges a payload and does what is to be done about it. It reports
// whether the connection goes on.
func (k *socket) take(p Payload, injected Fault, refusal *Rejection) bool {
	if refusal == nil && k.tooEarly() {
		refusal = reject(0, "message: sent before READY, lost")
	}
	v := k.srv.receive(delivery{Payload: p, refusal: refusal, injected: injected, noScope: k.noScope()})
	switch {
	case v.do == ignore:
		return true
	case v.do == hangUp:
		return false
	case v.do == crash:
		k.conn.run.closeConns()
		return false
	case v.close != 0:
		k.shut(v.close, v.reason)
		return true // until the peer has closed its side
	}
	due := p.Time.Add(v.delay)
	k.send(outgoing{due: due, data: v.body, half: v.half})
	if v.again != nil {
		k.send(outgoing{due: due, data: v.again})
	}
	return true
}

// tooEarly reports whether what was just read had come before READY was sent (rule R16).
func (k *socket) tooEarly() bool {
	return !k.ready.Load() || k.conn.packet.Load() <= k.packetsBeforeReady.Load()
}

// noScope reports whether the command needs an authorization that the
// connection cannot have (rule R20).
func (k *socket) noScope() bool {
	return k.transport == WebSocket && k.srv.opts.Profile.isDesktop()
}

// limit sets how long the peer may take for what it has begun to say; 0: for
// ever. It changes nothing on a connection that is being closed.
func (k *socket) limit(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.over:
	case d == 0:
		_ = k.conn.SetReadDeadline(time.Time{})
	default:
		_ = k.conn.SetReadDeadline(time.Now().Add(d))
	}
}

// shut does the server's half of the closing handshake. What the peer still
// sends has to be read and dropped, since closing on unread data would reset the
// connection and could cost the peer the code.
func (k *socket) shut(code int, reason string) {
	k.mu.Lock()
	if k.over {
		k.mu.Unlock()
		return
	}
	k.over = true
	close(k.ended)
	_ = k.conn.SetReadDeadline(time.Now().Add(closeTimeout))
	k.mu.Unlock()
	if k.writesNoMore.Load() || k.wire.writeClose(code, reason) != nil {
		_ = k.conn.Close()
	}
}

// ending reports whether the server closes the connection, so that nothing the
// peer says counts any more.
func (k *socket) ending() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.over
}
