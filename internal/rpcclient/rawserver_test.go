package rpcclient

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"sidetone/internal/rpcclient/link/linktest"

	"github.com/gorilla/websocket"
)

// rawServer is a server that does on each connection whatever a test wants, and keeps all that
// it received.
type rawServer struct {
	listener net.Listener
	accepted chan struct{} // one for each connection, as far as there is room

	mu       sync.Mutex
	received []*bytes.Buffer // by connection
	conns    []net.Conn
}

// rawConn is one connection of a rawServer.
type rawConn struct {
	net.Conn
	r    *bufio.Reader
	ws   bool            // after the handshake of a WebSocket
	over <-chan struct{} // closed when the test ends
}

// serveRaw listens on port (0: any) and calls handle for every connection, which is closed when
// handle returns.
func (m *machine) serveRaw(port int, handle func(*rawConn)) *rawServer {
	m.t.Helper()
	l := m.listen(port)
	s := &rawServer{listener: l, accepted: make(chan struct{}, 1000)}
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := s.add(c)
			wg.Go(func() {
				defer c.Close()
				handle(&rawConn{Conn: c, r: bufio.NewReader(io.TeeReader(c, buf)), over: over})
			})
		}
	})
	m.t.Cleanup(func() {
		close(over)
		l.Close()
		s.drop()
		wg.Wait()
	})
	return s
}

func (s *rawServer) add(c net.Conn) io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.accepted <- struct{}{}:
	default:
	}
	buf := &bytes.Buffer{}
	s.received = append(s.received, buf)
	s.conns = append(s.conns, c)
	return lockedWriter{&s.mu, buf}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// drop closes all connections.
func (s *rawServer) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
}

func (s *rawServer) port() int { return s.listener.Addr().(*net.TCPAddr).Port }

// everything is what came over all connections so far, each by itself.
func (s *rawServer) everything() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, b := range s.received {
		out = append(out, b.String())
	}
	return out
}

// request reads one HTTP request with its body.
func (c *rawConn) request() (*http.Request, []byte, error) {
	req, err := http.ReadRequest(c.r)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(req.Body)
	return req, body, err
}

// text reads one text message of a WebSocket.
func (c *rawConn) text() ([]byte, error) {
	var all []byte
	for {
		var head [2]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return nil, err
		}
		n := int(head[1] & 0x7f)
		if n == 126 {
			var long [2]byte
			if _, err := io.ReadFull(c.r, long[:]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(long[:]))
		}
		masked := make([]byte, 4+n)
		if _, err := io.ReadFull(c.r, masked); err != nil {
			return nil, err
		}
		for i := range n {
			masked[4+i] ^= masked[i%4]
		}
		switch op := head[0] & 0x0f; op {
		case websocket.CloseMessage:
			return nil, io.EOF
		case 0, websocket.TextMessage:
			all = append(all, masked[4:]...)
			if head[0]&0x80 != 0 {
				return all, nil
			}
		}
	}
}

// say answers with a text over the transport that the connection uses.
func (c *rawConn) say(text string) {
	if c.ws {
		_, _ = c.Write(linktest.WebSocketFrame(websocket.TextMessage, []byte(text)))
		return
	}
	c.reply("200 OK", "Content-Type: application/json\r\n", text)
}

// reply writes an HTTP reply.
func (c *rawConn) reply(status, header, body string) {
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
}

func (c *rawConn) fingerprint() {
	c.reply("404 Not Found", "Content-Type: application/json\r\n", linktest.Fingerprint)
}

// greet answers a WebSocket's handshake with READY.
func (c *rawConn) greet(req *http.Request, more string) {
	_, _ = io.WriteString(c, linktest.Switching(req, more))
	c.ws = true
	c.say(`{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1}}`)
}

// untilClosed waits for the other side to go.
func (c *rawConn) untilClosed() { _, _ = io.Copy(io.Discard, c.r) }

// forever writes s again and again until the other side has had enough, and returns how many
// bytes it took.
func (c *rawConn) forever(s string) (n int64) {
	block := bytes.Repeat([]byte(s), 1+65536/len(s))
	for {
		k, err := c.Write(block)
		n += int64(k)
		if err != nil {
			return n
		}
	}
}

func accept(nonce string) string {
	return `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"` + nonce + `"}`
}

// rpc is a whole client: it gives the fingerprint, greets, and lets handle answer every list.
// handle returns whether the connection goes on.
func rpc(handle func(c *rawConn, nonce string) bool) func(*rawConn) {
	return func(c *rawConn) {
		for {
			var body []byte
			var err error
			if c.ws {
				body, err = c.text()
			} else {
				var req *http.Request
				if req, body, err = c.request(); err == nil && req.Method == http.MethodGet {
					if req.Header.Get("Upgrade") != "" {
						c.greet(req, "")
					} else {
						c.fingerprint()
					}
					continue
				}
			}
			var r linktest.Command
			if err != nil || json.Unmarshal(body, &r) != nil || !handle(c, r.Nonce) {
				return
			}
		}
	}
}
