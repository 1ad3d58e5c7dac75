package rpcclient

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// requireInnocent requires that what a program received tells it nothing about devices: GET /,
// the handshake of a WebSocket, and commands with an empty list.
func requireInnocent(t *testing.T, connections []string) {
	t.Helper()
	key := regexp.MustCompile("Sec-WebSocket-Key: .*") // random letters, which may be a secret by chance
	for _, text := range connections {
		text = key.ReplaceAllString(text, "Sec-WebSocket-Key: x\r")
		for _, secret := range []string{"Speaker", "Mic", "Acme", "acme", "Headset", "hardware_mute", "audioinput"} {
			require.NotContains(t, text, secret)
		}
		r := bufio.NewReader(strings.NewReader(text))
		for {
			if _, err := r.Peek(1); err != nil {
				break
			}
			req, err := http.ReadRequest(r)
			require.NoError(t, err, text)
			body, err := io.ReadAll(req.Body)
			require.NoError(t, err, text)
			require.Empty(t, req.Header.Get("Origin"))
			switch {
			case req.Method == http.MethodGet && req.RequestURI == "/":
				require.Empty(t, body)
			case req.Method == http.MethodGet:
				require.Equal(t, "/?v=1&client_id="+clientID+"&encoding=json", req.RequestURI)
				require.Equal(t, "websocket", req.Header.Get("Upgrade"))
				require.Empty(t, body)
			default:
				require.Equal(t, "/rpc?v=1&client_id="+clientID, req.RequestURI)
				require.Equal(t, []string{"application/json"}, req.Header["Content-Type"])
				var cmd linktest.Command
				require.NoError(t, json.Unmarshal(body, &cmd), text)
				require.Equal(t, linktest.Name, cmd.Cmd)
				require.Equal(t, []devices.Device{}, cmd.Args.Devices)
			}
		}
	}
}

// answerAll answers every request in the same way.
func answerAll(status, header, body string) func(*rawConn) {
	return func(c *rawConn) {
		for {
			if _, _, err := c.request(); err != nil {
				return
			}
			c.reply(status, header, body)
		}
	}
}

const jsonType = "Content-Type: application/json\r\n"

// strangers are programs that may hold a port of the range and are no client.
var strangers = map[string]func(*rawConn){
	"says nothing":                     func(c *rawConn) { c.untilClosed() },
	"closes at once":                   func(*rawConn) {},
	"closes after a request":           func(c *rawConn) { _, _, _ = c.request() },
	"says something first":             func(c *rawConn) { _, _ = io.WriteString(c, "220 smtp ready\r\n"); c.untilClosed() },
	"web page":                         answerAll("200 OK", "Content-Type: text/html\r\n", "<html>"),
	"404 page":                         answerAll("404 Not Found", "Content-Type: text/html\r\n", "Not Found"),
	"fingerprint with a 200":           answerAll("200 OK", jsonType, linktest.Fingerprint),
	"fingerprint as text":              answerAll("404 Not Found", "Content-Type: text/plain\r\n", linktest.Fingerprint),
	"fingerprint and more":             answerAll("404 Not Found", jsonType, linktest.Fingerprint+"\n"),
	"fingerprint with another message": answerAll("404 Not Found", jsonType, `{"code":0,"message":"not found"}`),
	"JSON error with a code":           answerAll("400 Bad Request", jsonType, `{"code":4000,"message":"Invalid Client ID"}`),
	"JSON error":                       answerAll("400 Bad Request", jsonType, `{"code":17,"message":"no"}`),
	"empty JSON":                       answerAll("200 OK", jsonType, `{}`),
	"answer to another nonce":          answerAll("200 OK", jsonType, accept("x")),
	"no content":                       answerAll("204 No Content", "", ""),
	"redirects":                        answerAll("302 Found", "Location: http://127.0.0.1:1/\r\n", ""),
	"echoes bodies": func(c *rawConn) {
		for {
			_, body, err := c.request()
			if err != nil {
				return
			}
			c.reply("200 OK", jsonType, string(body))
		}
	},
	"echoes all": func(c *rawConn) { _, _ = io.Copy(c, c.r) },
	"WebSocket that never greets": func(c *rawConn) {
		for {
			req, _, err := c.request()
			if err != nil {
				return
			}
			if req.Header.Get("Upgrade") == "" {
				c.reply("404 Not Found", "", "")
				continue
			}
			_, _ = io.WriteString(c, linktest.Switching(req, ""))
			c.untilClosed()
		}
	},
	"WebSocket that says other things": func(c *rawConn) {
		for {
			req, _, err := c.request()
			if err != nil {
				return
			}
			if req.Header.Get("Upgrade") == "" {
				c.reply("426 Upgrade Required", "", "")
				continue
			}
			_, _ = io.WriteString(c, linktest.Switching(req, ""))
			c.ws = true
			c.say(`{"cmd":"DISPATCH","evt":"HELLO"}`)
			c.untilClosed()
		}
	},
}

// TestStrangersLearnNothing although the client that is served is behind them all.
func TestStrangersLearnNothing(t *testing.T) {
	t.Parallel()
	for name, handle := range strangers {
		for _, set := range []Transport{all, HTTP} {
			t.Run(string(set)+": "+name, func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, m *machine) {
					stranger := m.serveRaw(0, handle)
					client := m.serve(fakeserver.Options{})
					opts := quick(stranger.port(), client.Port())
					opts.Transports = only(set)
					h := m.start(opts)
					h.publish(devices.True)
					has(t, client, devices.True)
					h.publish(devices.False)
					has(t, client, devices.False)
					h.stop()
					if name != "WebSocket that never greets" && name != "WebSocket that says other things" {
						requireInnocent(t, stranger.everything())
					}
					for _, text := range stranger.everything() {
						require.NotContains(t, text, "Acme")
					}
				})
			})
		}
	}
}

// TestATakenPortLearnsNothing: the client goes unnoticed, and another program takes its port.
func TestATakenPortLearnsNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		const (
			client = iota
			closing
			stranger
		)
		phase := make(chan int, 1) // holds the present phase
		phase <- client
		now := func() int {
			p := <-phase
			phase <- p
			return p
		}
		set := func(p int) { <-phase; phase <- p }
		answer := rpc(func(c *rawConn, nonce string) bool { c.say(accept(nonce)); return true })
		var cutOff atomic.Int32
		s := m.serveRaw(0, func(c *rawConn) {
			switch now() {
			case client:
				answer(c)
			case closing:
				cutOff.Add(1)
			case stranger:
				answerAll("404 Not Found", "Content-Type: text/html\r\n", "Not Found")(c)
			}
		})
		opts := quick(s.port())
		opts.Transports = only(HTTP)
		h := m.start(opts)
		h.publish(devices.True)
		eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })

		set(closing)
		s.drop()
		eventually(t, "the link has noticed that it is cut off", func() bool { return cutOff.Load() > 1 })
		set(stranger)
		from := len(s.everything())
		h.publish(devices.False)
		eventually(t, "the stranger was asked", func() bool { return strings.Contains(strings.Join(s.everything()[from:], ""), "GET /") })
		eventually(t, "searching", func() bool { return h.Status().State == Searching })
		requireInnocent(t, s.everything()[from:])
		require.Len(t, h.delivered(), 1)

		set(client)
		eventually(t, "delivered", func() bool { return len(h.delivered()) == 2 })
		require.True(t, h.delivered()[1].First, "a client that was found anew gets the whole list")
	})
}

func TestTenBlackHolesAndTheClientLast(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		ports := m.freePorts(11)
		for _, p := range ports[:10] {
			m.blackHole(p)
		}
		s := m.serve(fakeserver.Options{Ports: ports[10:]})
		opts := m.quick(ports...)
		opts.ProbeTimeout, opts.StopTimeout = quick().ProbeTimeout, time.Second // probes without an answer run to their timeout, and so does the stop
		h := m.start(opts)
		h.publish(devices.True)
		has(t, s, devices.True)
		require.Equal(t, ports[10], func() int {
			eventually(t, "a delivery", func() bool { return len(h.delivered()) == 1 })
			return h.delivered()[0].To.Port
		}())
	})
}

// TestTheFirstInOrderWins although a later one answers first.
func TestTheFirstInOrderWins(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		second := m.serve(fakeserver.Options{})
		first := m.serveRaw(0, func(c *rawConn) {
			if _, _, err := c.request(); err != nil {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if second.WaitStats(ctx, func(s fakeserver.Stats) bool { return s.Probes > 0 && s.Connections == 0 }) == nil {
				c.fingerprint()
			}
		})
		opts := m.quick(first.port(), second.Port())
		opts.Clients, opts.ProbeTimeout = FirstClient, patience
		h := m.start(opts)
		eventually(t, "the first has its turn", func() bool {
			st := h.Status()
			return len(st.Sessions) > 0 && st.Sessions[0].Port == first.port() && st.Sessions[0].State == Connecting
		})
		require.Empty(t, second.Payloads())
	})
}

func TestScanErrors(t *testing.T) { inVirtualTime(t, scanErrors) }

func scanErrors(t *testing.T, m *machine) {
	free := m.freePorts(2)
	page := m.serveRaw(0, strangers["web page"])
	refusing := m.serveRaw(0, func(c *rawConn) {
		req, _, err := c.request()
		if err != nil {
			return
		}
		if req.Header.Get("Upgrade") == "" {
			c.reply("404 Not Found", "", "")
			return
		}
		_, _ = io.WriteString(c, linktest.Switching(req, ""))
		_, _ = c.Write(linktest.WebSocketFrame(8, append([]byte{4004 >> 8, 4004 & 0xff}, "version"...)))
		c.untilClosed()
	})
	cases := map[string]struct {
		ports []int
		says  []string
	}{
		"one port, closed":  {free[:1], []string{"no client found", "on port ", " of 127.0.0.1"}},
		"two ports, closed": {free, []string{"no client found", "on ports ", "–"}},
		"held by others":    {[]int{page.port(), free[0]}, []string{"another program holds "}},
		"refused":           {[]int{free[0], refusing.port()}, []string{"invalid version"}},
	}
	for name, c := range cases {
		h := m.start(quick(c.ports...))
		eventually(t, "the status says why: "+name, func() bool {
			return !slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(h.trouble(), s) })
		})
	}
}

// TestOriginOnlyWhereConfigured: on WebSocket, never elsewhere.
func TestOriginOnlyWhereConfigured(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, m *machine) {
		for _, origin := range []string{"", "https://acme.example"} {
			s := m.serveRaw(0, rpc(func(c *rawConn, nonce string) bool { c.say(accept(nonce)); return true }))
			for _, set := range []Transport{WebSocket, HTTP} {
				opts := quick(s.port())
				opts.Transports, opts.Origin = only(set), origin
				h := m.start(opts)
				h.publish(devices.True)
				eventually(t, "delivered", func() bool { return len(h.delivered()) == 1 })
				h.stop()
			}
			for _, text := range s.everything() {
				want := origin != "" && strings.Contains(text, "Upgrade: websocket")
				require.Equal(t, want, strings.Contains(strings.ToLower(text), "\r\norigin:"), text)
			}
		}
	})
}

// TestStopWhileNobodyAnswers: whatever is awaited with however long a deadline.
func TestStopWhileNobodyAnswers(t *testing.T) {
	t.Parallel()
	silent := map[string]func(*rawConn){
		"probe": strangers["says nothing"],
		"handshake": func(c *rawConn) {
			if req, _, err := c.request(); err == nil && req.Header.Get("Upgrade") == "" {
				c.fingerprint()
			} else {
				c.untilClosed()
			}
		},
		"handshake in a probe": func(c *rawConn) {
			if req, _, err := c.request(); err == nil && req.Header.Get("Upgrade") == "" {
				c.reply("404 Not Found", "", "")
			} else {
				c.untilClosed()
			}
		},
		"READY": func(c *rawConn) {
			req, _, err := c.request()
			if err != nil {
				return
			}
			if req.Header.Get("Upgrade") == "" {
				c.fingerprint()
				return
			}
			_, _ = io.WriteString(c, linktest.Switching(req, ""))
			c.untilClosed()
		},
	}
	for name, handle := range silent {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				s := m.serveRaw(0, handle)
				opts := quick(s.port())
				opts.ProbeTimeout, opts.AnswerTimeout, opts.HTTPTimeout = time.Hour, time.Hour, time.Hour
				h := m.start(opts)
				<-s.accepted
				if name != "probe" {
					<-s.accepted
				}
				h.stop()
				require.Equal(t, Stopped, h.Status().State)
			})
		})
	}
}
