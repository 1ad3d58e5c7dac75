package rpcclient

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// manyBytes is more than anyone may read of an endless message: our limit of 1 MiB and what
// the kernel holds of it on its way.
const manyBytes = 64 << 20

var tenMiB = strings.Repeat("x", 10<<20)

// deep is a JSON text nested so deep that a recursive reader would die of it.
var deep = strings.Repeat(`{"data":`, 1e5) + "1" + strings.Repeat("}", 1e5)

// longFrame is a frame of any length, as a server sends it.
func longFrame(first byte, payload string) []byte {
	n := len(payload)
	return append([]byte{first, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, payload...)
}

// TestHostileAnswers shows, for answers of every bad kind, that nothing is taken for a
// delivery, that the status says what is wrong, and that all is well once the server is.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		set    Transport
		answer func(c *rawConn, nonce string) // instead of a good answer; then the connection is closed
		status string
	}{
		{"10 MiB", WebSocket, func(c *rawConn, _ string) { _, _ = c.Write(longFrame(0x81, tenMiB)) }, "limit"},
		{"10 MiB", HTTP, func(c *rawConn, _ string) { c.say(tenMiB) }, "more than"},
		{"10 MiB that begin well", HTTP, func(c *rawConn, nonce string) { c.say(accept(nonce) + strings.Repeat(" ", 10<<20)) }, "more than"},
		{"half a frame, then silence", WebSocket, func(c *rawConn, nonce string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.TextMessage, []byte(accept(nonce)))[:40])
			c.untilClosed()
		}, "no answer in time"},
		{"half a frame, then the end", WebSocket, func(c *rawConn, nonce string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.TextMessage, []byte(accept(nonce)))[:40])
		}, "lost"},
		{"half a header, then silence", HTTP, func(c *rawConn, _ string) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Ty")
			c.untilClosed()
		}, "no answer in time"},
		{"half a header, then the end", HTTP, func(c *rawConn, _ string) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Ty")
		}, "not the client's RPC server"},
		{"half a body, then silence", HTTP, func(c *rawConn, nonce string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n%s", accept(nonce))
			c.untilClosed()
		}, "no answer in time"},
		{"half a body, then the end", HTTP, func(c *rawConn, nonce string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n%s", accept(nonce))
		}, "lost"},
		{"deep JSON", WebSocket, func(c *rawConn, _ string) { _, _ = c.Write(longFrame(0x81, deep)); c.untilClosed() }, "not the client's RPC server"},
		{"deep JSON", HTTP, func(c *rawConn, _ string) { c.say(deep) }, "not the client's RPC server"},
		{"a nonce never sent", WebSocket, func(c *rawConn, _ string) { c.say(accept("never-sent")); c.untilClosed() }, "no answer in time"},
		{"a nonce never sent", HTTP, func(c *rawConn, _ string) { c.say(accept("never-sent")) }, "not to our command"},
		{"our command echoed", HTTP, func(c *rawConn, nonce string) {
			c.say(`{"nonce":"` + nonce + `","cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`)
		}, "not to our command"},
		{"endless events", WebSocket, func(c *rawConn, _ string) {
			c.forever(string(linktest.WebSocketFrame(websocket.TextMessage, []byte(`{"cmd":"DISPATCH","evt":"X"}`))))
		}, "no answer in time"},
		{"endless pings", WebSocket, func(c *rawConn, _ string) {
			go c.forever(string(linktest.WebSocketFrame(websocket.PingMessage, []byte("x"))))
			c.untilClosed()
		}, "no answer in time"},
		{"endless fragments", WebSocket, func(c *rawConn, _ string) {
			_, _ = io.WriteString(c, "\x01\x00")
			c.forever("\x00\x7d" + strings.Repeat(" ", 125))
		}, "limit"},
		{"a binary answer", WebSocket, func(c *rawConn, nonce string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.BinaryMessage, []byte(accept(nonce))))
			c.untilClosed()
		}, "binary"},
		{"a masked answer", WebSocket, func(c *rawConn, _ string) {
			_, _ = io.WriteString(c, "\x81\x82....{}")
			c.untilClosed()
		}, "lost"},
		{"closed after each frame", WebSocket, func(*rawConn, string) {}, "lost"},
		{"closed after each request", HTTP, func(*rawConn, string) {}, "lost"},
		{"closed as going away", WebSocket, func(c *rawConn, _ string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.CloseMessage, []byte{1001 >> 8, 1001 & 0xff}))
			c.untilClosed()
		}, "lost"},
		{"closed with no code", WebSocket, func(c *rawConn, _ string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.CloseMessage, nil))
			c.untilClosed()
		}, "lost"},
		{"closed with a code", WebSocket, func(c *rawConn, _ string) {
			_, _ = c.Write(linktest.WebSocketFrame(websocket.CloseMessage, append([]byte{4003 >> 8, 4003 & 0xff}, "token"...)))
			c.untilClosed()
		}, "token revoked"},
		{"HTTP 408", HTTP, func(c *rawConn, _ string) { c.reply("408 Request Timeout", "Connection: close\r\n", "") }, "lost"},
		{"HTTP 500", HTTP, func(c *rawConn, nonce string) { c.reply("500 Oops", "", accept(nonce)) }, "HTTP 500"},
		{"HTTP 100 for ever", HTTP, func(c *rawConn, _ string) { c.forever("HTTP/1.1 100 Continue\r\n\r\n") }, "HTTP 100"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s: %s", c.set, c.name), func(t *testing.T) {
			onSockets(t, func(t *testing.T, m *machine) {
				var sick atomic.Bool
				sick.Store(true)
				s := m.serveRaw(0, rpc(func(conn *rawConn, nonce string) bool {
					if sick.Load() {
						c.answer(conn, nonce)
						return false
					}
					conn.say(accept(nonce))
					return true
				}))
				opts := quick(s.port())
				opts.Transports = only(c.set)
				if !strings.Contains(c.status, "no answer") { // megabytes take a while on a busy machine
					opts.AnswerTimeout, opts.HTTPTimeout = patience, patience
				}
				h := m.start(opts)
				h.publish(devices.True)
				eventually(t, "the status says what is wrong", func() bool { return strings.Contains(h.trouble(), c.status) })
				require.Empty(t, h.delivered())
				sick.Store(false)
				if h.Status().State == Unsupported {
					h.Resend() // else it would be waited for until it restarts
				}
				eventually(t, "delivered", func() bool { return len(h.delivered()) > 0 && h.connected() })
			})
		})
	}
}

// TestEndlessHeaders shows that a server cannot fill our memory before it has proved anything.
func TestEndlessHeaders(t *testing.T) {
	t.Parallel()
	header := "X: " + strings.Repeat("a", 1000) + "\r\n"
	cases := map[string]struct {
		set Transport
		on  func(c *rawConn, req *http.Request) (flood string) // "" = behaves
	}{
		"fingerprint": {all, func(c *rawConn, req *http.Request) string {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\n")
			return header
		}},
		"fingerprint, one line": {all, func(c *rawConn, req *http.Request) string {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nX: ")
			return "a"
		}},
		"fingerprint, body": {all, func(c *rawConn, req *http.Request) string {
			_, _ = io.WriteString(c, "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n\r\n")
			return linktest.Fingerprint
		}},
		"handshake": {WebSocket, func(c *rawConn, req *http.Request) string {
			if req.Header.Get("Upgrade") == "" {
				return ""
			}
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n")
			return header
		}},
		"reply": {HTTP, func(c *rawConn, req *http.Request) string {
			if req.Method != http.MethodPost {
				return ""
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			return header
		}},
		"reply, body in chunks": {HTTP, func(c *rawConn, req *http.Request) string {
			if req.Method != http.MethodPost {
				return ""
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			return "1\r\n \r\n"
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			onSockets(t, func(t *testing.T, m *machine) {
				taken := make(chan int64, 100)
				s := m.serveRaw(0, func(conn *rawConn) {
					for {
						req, _, err := conn.request()
						if err != nil {
							return
						}
						if flood := c.on(conn, req); flood != "" {
							n := conn.forever(flood)
							select {
							case taken <- n:
							default:
							}
							return
						}
						conn.fingerprint()
					}
				})
				opts := quick(s.port())
				opts.Transports, opts.ProbeTimeout, opts.AnswerTimeout, opts.HTTPTimeout = only(c.set), patience, patience, patience
				h := m.start(opts)
				h.publish(devices.True)
				require.Less(t, <-taken, int64(manyBytes))
				eventually(t, "an error", func() bool { return h.trouble() != "" })
				require.Empty(t, h.delivered())
			})
		})
	}
}

// maxAnswer is the longest message of a server that is read, in bytes.
const maxAnswer = 1 << 20

// TestCompressionBomb: a server may compress although nobody asked it to.
func TestCompressionBomb(t *testing.T) {
	onSockets(t, func(t *testing.T, m *machine) {
		var packed bytes.Buffer
		w, err := flate.NewWriter(&packed, flate.BestCompression)
		require.NoError(t, err)
		_, err = w.Write(make([]byte, 8*maxAnswer))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		bomb := packed.String()[:packed.Len()-4]
		require.Less(t, len(bomb), maxAnswer, "it must be small on the wire")
		s := m.serveRaw(0, func(c *rawConn) {
			req, _, err := c.request()
			if err != nil {
				return
			}
			if req.Header.Get("Upgrade") == "" {
				c.fingerprint()
				return
			}
			c.greet(req, "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover; client_no_context_takeover\r\n")
			_, _ = c.Write(longFrame(0x81|0x40, bomb)) // 0x40: compressed
			c.untilClosed()
		})
		opts := m.quick(s.port())
		opts.Transports = only(WebSocket)
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "an error", func() bool { return strings.Contains(h.trouble(), "a message of more than") })
	})
}

// TestTwoAnswersToOneNonce: the second is no answer to the next list.
func TestTwoAnswersToOneNonce(t *testing.T) {
	t.Parallel()
	for _, set := range []Transport{WebSocket, HTTP} {
		t.Run(string(set), func(t *testing.T) {
			everywhere(t, func(t *testing.T, m *machine) {
				lists := make(chan string, 100)
				release := make(chan struct{})
				s := m.serveRaw(0, rpc(func(c *rawConn, nonce string) bool {
					lists <- nonce
					if len(lists) == 1 { // the first list
						c.say(accept(nonce))
						c.say(accept(nonce))
						return true
					}
					<-release
					c.say(accept(nonce))
					return true
				}))
				opts := quick(s.port())
				opts.Transports, opts.AnswerTimeout, opts.HTTPTimeout = only(set), patience, patience
				h := m.start(opts)
				h.publish(devices.True)
				eventually(t, "the first delivery", func() bool { return len(h.delivered()) == 1 })
				h.publish(devices.False)
				eventually(t, "the second list has arrived", func() bool { return len(lists) == 2 })
				require.Len(t, h.delivered(), 1, "it has no answer yet")
				close(release)
				eventually(t, "the second delivery", func() bool { return len(h.delivered()) == 2 })
			})
		})
	}
}

// TestAnswerRightBeforeTheEnd: what was answered was delivered.
func TestAnswerRightBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, set := range []Transport{WebSocket, HTTP} {
		t.Run(string(set), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serveRaw(0, rpc(func(c *rawConn, nonce string) bool {
					c.say(accept(nonce))
					return false
				}))
				opts := quick(s.port())
				opts.Transports, opts.AnswerTimeout, opts.HTTPTimeout = only(set), patience, patience
				h := m.start(opts)
				h.publish(devices.True)
				eventually(t, "delivered", func() bool { return len(h.delivered()) > 0 })
			})
		})
	}
}

// TestStopWhileTheServerDoesNotRead: a list that is larger than what the kernel takes.
func TestStopWhileTheServerDoesNotRead(t *testing.T) {
	t.Parallel()
	largerThanBuffers := func(m *machine) devices.Snapshot {
		large := linktest.Headset(devices.True)
		large.Generation = 1
		n := 1 << 15
		if m.Network != nil {
			n = 1 << 10
		}
		for i := range n {
			r := large.Devices[0]
			r.ID = fmt.Sprintf("%0200d", i)
			large.Devices = append(large.Devices, r)
		}
		return large
	}
	for set, where := range map[Transport]func(*testing.T, func(*testing.T, *machine)){WebSocket: inVirtualTime, HTTP: everywhere} {
		t.Run(string(set), func(t *testing.T) {
			where(t, func(t *testing.T, m *machine) {
				arrived := make(chan struct{}, 10)
				s := m.serveRaw(0, func(c *rawConn) {
					for {
						req, err := http.ReadRequest(c.r)
						switch {
						case err != nil:
							return
						case req.Method == http.MethodPost:
						case req.Header.Get("Upgrade") == "":
							c.fingerprint()
							continue
						default:
							c.greet(req, "")
							_, _ = c.r.Peek(1)
						}
						arrived <- struct{}{}
						<-c.over // the connection is not read any further
					}
				})
				opts := quick(s.port())
				opts.Transports, opts.AnswerTimeout, opts.HTTPTimeout = only(set), patience, patience
				h := m.start(opts)
				h.Publish(largerThanBuffers(m))
				<-arrived
				h.stop()
				require.Empty(t, h.delivered())
			})
		})
	}
}
