package fakeserver

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
)

const (
	// maxIPC is how many IPC connections newer builds of the client accept (rule R80).
	maxIPC = 100
	// handshakeTimeout is how long the handshake may take to come (rule R80).
	handshakeTimeout = 10 * time.Second
	// acceptPause is the wait after a connection could not be accepted, for
	// example because the process is out of file descriptors.
	acceptPause = 50 * time.Millisecond
)

// serveIPC accepts connections until the listener is closed.
func (r *run) serveIPC(ln net.Listener) {
	for {
		raw, err := ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			r.srv.log.Info("cannot accept on the IPC socket", "err", err)
			select {
			case <-time.After(acceptPause):
			case <-r.done:
			}
		default:
			c := r.addConn(raw, true)
			room := r.admit(c)
			r.wg.Go(func() { r.srv.handleIPC(c, room) })
		}
	}
}

// handleIPC serves a connection, or refuses it if there is no room for it.
func (s *Server) handleIPC(c *conn, room bool) {
	defer c.Close()
	if s.opts.Profile == Blackhole {
		s.serveBlackholeIPC(c)
		return
	}
	if _, ok := s.useFault(IPC, FaultHang); ok {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	k := &ipcSocket{socket: newSocket(s, c, IPC, readyUserMessage), handshook: make(chan struct{})}
	k.wire = k
	k.tasks.Go(k.write)
	switch {
	case !room:
		k.refuse(reject(codeCapacity, "Server at capacity"))
	case s.opts.Profile.isDesktop():
		k.tasks.Go(k.awaitHandshake)
	}
	k.read()
	_ = c.Close()
	k.tasks.Wait()
}

// An ipcSocket is one IPC connection. It writes whole frames, from any goroutine.
type ipcSocket struct {
	*socket
	writing   sync.Mutex
	handshook chan struct{} // closed by the reader when the handshake has come
}

// awaitHandshake closes a connection on which the handshake does not come in time. One that has come
// may wait in line for as long as it takes (rule R80).
func (k *ipcSocket) awaitHandshake() {
	timer := time.NewTimer(handshakeTimeout)
	defer timer.Stop()
	select {
	case <-timer.C:
		k.srv.waitWhileFrozen(k.conn.closed)
		k.refuse(reject(codeCapacity, "no handshake within %s", handshakeTimeout))
	case <-k.handshook:
	case <-k.ended:
	case <-k.conn.closed:
	}
}

// read serves the connection until it ends.
func (k *ipcSocket) read() {
	for {
		h, err := ipcframe.ReadHeader(k.conn)
		if err != nil {
			return
		}
		if k.isClosing() {
			_, _ = io.Copy(io.Discard, k.conn)
			return
		}
		if h.Op > ipcframe.Pong && k.srv.opts.Profile.isDesktop() {
			k.refuse(reject(codeBadJSON, "unknown opcode %d", h.Op))
			continue
		}
		injected := Fault{}
		if h.Op == ipcframe.Frame && isClosed(k.handshook) {
			injected = k.srv.draw(IPC, payloadEvent)
			if _, ok := k.srv.meetFault(IPC, injected, FaultDie); ok {
				_, _ = io.CopyN(io.Discard, k.conn, int64(min(h.Size, 1)))
				k.conn.reset()
				return
			}
		}
		k.limitRead(bodyTimeout)
		body, err := ipcframe.ReadBody(k.conn, h, maxMessage)
		if err != nil && !errors.Is(err, ipcframe.ErrTooBig) {
			return
		}
		k.limitRead(0)
		if !k.handleFrame(h, body, injected) {
			return
		}
	}
}

// handleFrame handles one frame; the body is nil if it was too large. It reports
// whether the connection goes on.
func (k *ipcSocket) handleFrame(h ipcframe.Header, body []byte, injected Fault) bool {
	refusal, handshook := k.srv.badFrame(h, body), isClosed(k.handshook)
	switch {
	case h.Op == ipcframe.Frame && handshook:
		p := Payload{Time: k.conn.readAt(), Transport: IPC, Conn: k.conn.id, ClientID: k.clientID, Raw: body}
		return k.handle(p, injected, refusal)
	case refusal != nil:
		k.refuse(refusal)
	case h.Op == ipcframe.Frame:
		k.refuse(reject(codeBadJSON, "did not handshake"))
	case h.Op == ipcframe.Handshake && handshook:
		k.refuse(reject(codeBadJSON, "second handshake"))
	case h.Op == ipcframe.Handshake:
		k.handshake(body)
	case h.Op == ipcframe.Ping:
		return k.pong(body)
	case h.Op == ipcframe.Close && k.srv.opts.Profile.isDesktop():
		k.close(codeNormal, "closed by the peer")
	case h.Op == ipcframe.Close:
		return false
	case h.Op == ipcframe.Pong:
	default:
		k.refuse(reject(codeBadJSON, "unknown opcode %d", h.Op))
	}
	return true
}

// badFrame says why a frame is refused because of its form, not its content (rule
// R47).
func (s *Server) badFrame(h ipcframe.Header, body []byte) *Rejection {
	switch {
	case s.opts.Profile == ArRPC:
		return badArRPCFrame(h, body)
	case h.Size > maxMessage:
		return reject(codeBadJSON, "message: larger than %d bytes", maxMessage)
	case s.opts.Profile.isDesktop() && h.Op != ipcframe.Frame && !json.Valid(decoded(body, nil)):
		return reject(codeBadJSON, "frame of opcode %d: not JSON", h.Op)
	}
	return nil
}

// pong answers a ping, which costs no token and needs no handshake (rule R69). It
// reports whether the connection goes on.
func (k *ipcSocket) pong(data []byte) bool {
	if _, ok := k.srv.useFault(IPC, FaultHang); ok || k.writesNoMore.Load() {
		return true
	}
	return k.writeFrame(ipcframe.Pong, data) == nil
}

// handshake admits the peer, or says why not.
func (k *ipcSocket) handshake(body []byte) {
	close(k.handshook)
	k.srv.count(&k.srv.stats.Handshakes)
	if _, ok := k.srv.useFault(IPC, FaultHang); ok {
		return
	}
	desktop := k.srv.opts.Profile.isDesktop()
	if desktop {
		body = decoded(body, nil)
	}
	fields, err := decode(body)
	switch {
	case err != nil && err.Code == codeBadJSON:
		k.refuse(err)
		return
	case desktop && isNull(body):
		k.refuse(reject(codeBadJSON, "handshake: null"))
		return
	}
	switch id := fields["client_id"].(type) {
	case string:
		k.clientID = id
	case json.Number:
		if desktop {
			k.clientID = textOf(id)
		}
	}
	k.admit(k.srv.draw(IPC, connectEvent), k.srv.badHandshake(fields), func() *Rejection {
		if k.srv.opts.knowsClient(k.clientID) {
			return nil
		}
		return reject(codeClientID, "client_id %s is not a known application", show(k.clientID))
	})
}

// badHandshake says why the client would close a connection because of its
// version; nil if it would not (rule R79).
func (s *Server) badHandshake(fields map[string]any) *Rejection {
	v, present := fields["v"]
	n, ok := v.(json.Number)
	switch desktop := s.opts.Profile.isDesktop(); {
	case desktop && (!present || goodVersion(v)), s.opts.Profile == ArRPC && (v == nil || v == "1"):
		return nil
	case desktop:
		return reject(codeBadJSON, "Invalid Version: %s", mustJSON(v))
	case v == nil:
		return reject(codeVersion, "v is missing")
	case !ok:
		return reject(codeVersion, "v is %s, not 1", kindOf(v))
	case n != "1":
		return reject(codeVersion, "v is %s, not 1", show(n.String()))
	}
	return nil
}

func (k *ipcSocket) writeBytes(data []byte) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	_ = k.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := k.conn.Write(data)
	return err
}

func (k *ipcSocket) writeFrame(op uint32, body []byte) error {
	return k.writeBytes(ipcframe.Encode(op, body))
}

func (k *ipcSocket) writeMessage(text []byte) error { return k.writeFrame(ipcframe.Frame, text) }

func (k *ipcSocket) writeHalf(text []byte) error {
	return k.writeBytes(ipcframe.Encode(ipcframe.Frame, text)[:ipcframe.HeaderSize+len(text)/2])
}

// writeClose sends the code and then closes the sending half, where the OS can do that.
func (k *ipcSocket) writeClose(code int, reason string) error {
	err := k.writeFrame(ipcframe.Close, mustJSON(errorData{code, reason}))
	if err == nil {
		k.conn.finish()
	}
	return err
}
