package rpcclient

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// TestHTTPConnectionsThatEnd shows that a server may close connections as it likes: every
// list arrives, and the client is not taken to have gone.
func TestHTTPConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	servers := map[string]func(c *rawConn, nonce string) (open bool){
		"kept": func(c *rawConn, nonce string) bool {
			c.say(accept(nonce))
			return true
		},
		"closed after each reply, without a word": func(c *rawConn, nonce string) bool {
			c.say(accept(nonce))
			return false
		},
		"closed after each reply, as said": func(c *rawConn, nonce string) bool {
			c.reply("200 OK", jsonType+"Connection: close\r\n", accept(nonce))
			return false
		},
		"said to be closed, but kept": func(c *rawConn, nonce string) bool {
			c.reply("200 OK", jsonType+"Connection: close\r\n", accept(nonce))
			return true
		},
		"HTTP/1.0": func(c *rawConn, nonce string) bool {
			_, _ = io.WriteString(c, "HTTP/1.0 200 OK\r\n\r\n"+accept(nonce))
			return false
		},
		"chunked": func(c *rawConn, nonce string) bool {
			a := accept(nonce)
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", 7, a[:7], len(a)-7, a[7:])
			return true
		},
		"in single bytes": func(c *rawConn, nonce string) bool {
			a := accept(nonce)
			for _, b := range []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(a), a)) {
				_, _ = c.Write([]byte{b})
			}
			return true
		},
	}
	for name, answer := range servers {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serveRaw(0, rpc(answer))
				opts := quick(s.port())
				opts.Transports, opts.HTTPTimeout = only(HTTP), patience
				h := m.start(opts)
				const n = 30
				for i := range n {
					h.publish(devices.Of(i%2 == 0))
					eventually(t, "delivered", func() bool { return len(h.delivered()) == i+1 })
				}
				for i, d := range h.delivered() {
					require.Equal(t, i == 0, d.First, "the session is the same")
				}
			})
		})
	}
}

// TestHTTPSurvivesTimeoutsOfIdleConnections: servers end idle connections with a 408.
func TestHTTPSurvivesTimeoutsOfIdleConnections(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		s := m.serveRaw(0, func(c *rawConn) {
			first := true
			for {
				if !first { // idle from here on
					c.reply("408 Request Timeout", "Connection: close\r\n", "")
					return
				}
				first = false
				req, body, err := c.request()
				if err != nil {
					return
				}
				if req.Method == http.MethodGet {
					c.fingerprint()
					return
				}
				c.say(accept(nonceOf(body)))
			}
		})
		opts := quick(s.port())
		opts.Transports, opts.HTTPTimeout = only(HTTP), patience
		h := m.start(opts)
		for i := range 10 {
			h.publish(devices.Of(i%2 == 0))
			eventually(t, "delivered", func() bool { return len(h.delivered()) == i+1 })
		}
		require.False(t, h.delivered()[9].First)
	})
}

func nonceOf(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"nonce":"`)
	nonce, _, _ := strings.Cut(rest, `"`)
	return nonce
}

// TestHTTPNoticesThatTheClientHasGone also when the server had closed the idle connection
// before: nothing but a new connection then tells.
func TestHTTPNoticesThatTheClientHasGone(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		lists := make(chan struct{}, 10)
		answer := rpc(func(c *rawConn, nonce string) bool {
			c.say(accept(nonce))
			lists <- struct{}{}
			return false
		})
		s := m.serveRaw(0, func(c *rawConn) {
			if len(lists) > 0 {
				return // closes what is idle at once
			}
			answer(c)
		})
		opts := m.quick(s.port())
		opts.Transports = only(HTTP)
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
		before := len(s.everything())
		eventually(t, "two connections were closed idle", func() bool { return len(s.everything()) >= before+2 })
		s.listener.Close()
		eventually(t, "searching", func() bool { return h.Status().State == Searching })
	})
}
