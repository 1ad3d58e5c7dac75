package rpcclient

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link/linktest"
)

// A port of unknown owner may be that of the client which is served over its socket. An empty list
// that is to prove something would empty that client's.
func TestAClientGetsNoListOverItsPortOfUnknownOwner(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func(c net.Conn){
		"late": func(c net.Conn) {
			time.Sleep(600 * time.Millisecond)
			replyTo(c, "404 Not Found", linktest.Fingerprint)
		},
		"no fingerprint": func(c net.Conn) { replyTo(c, "404 Not Found", "{}") },
		"never":          func(net.Conn) { time.Sleep(time.Hour) },
		"late now and then": func(c net.Conn) {
			if time.Now().Second()%2 == 0 {
				time.Sleep(600 * time.Millisecond)
			}
			replyTo(c, "404 Not Found", linktest.Fingerprint)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.hidden = []int{6463}
				process := v.program(100)
				port := v.page(process, 6463, func(c net.Conn, r *http.Request) {
					if r.Method == http.MethodGet && r.Header.Get("Upgrade") == "" {
						get(c)
						return
					}
					replyTo(c, "200 OK", accept(r.Header.Get("X-Nonce")))
				})
				s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
				h := v.start(Options{})
				h.publish(devices.True)
				for range 10 {
					pass(time.Minute)
					h.Resend()
				}
				require.Equal(t, devices.True, mute(s))
				require.NotEmpty(t, port.requests())
				for _, r := range port.requests() {
					require.Equal(t, "GET /", r)
				}
			})
		})
	}
}

// Who is too late with the free proof is never asked for the one by an empty list, whether or
// not another client is served: it may be a client whose list somebody else has sent.
func TestALateClientIsAskedForTheFreeProofAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		var late atomic.Bool
		late.Store(true)
		port := v.page(v.program(100), 6463, func(c net.Conn, r *http.Request) {
			switch {
			case r.Header.Get("Upgrade") != "":
				replyTo(c, "426 Upgrade Required", "")
			case r.Method == http.MethodGet:
				if late.Load() {
					time.Sleep(6 * time.Second) // than anybody waits
				}
				replyTo(c, "404 Not Found", linktest.Fingerprint)
			default:
				replyTo(c, "200 OK", accept(r.Header.Get("X-Nonce")))
			}
		})
		h := v.reporting(Options{}, devices.True, time.Minute)
		require.NotContains(t, port.requests(), "POST /rpc")
		late.Store(false)
		pass(2 * time.Minute)
		require.Equal(t, Degraded, h.session().State)
		require.Contains(t, port.requests(), "POST /rpc")
	})
}

// What a client of the written specification is asked for a proof may have been the list of another.
func TestAProofByAnEmptyListHasAllListsSentAgain(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Minute)
		require.Len(t, s.Payloads(), 1)
		v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Documented, NoFingerprint: true, NoWebSocket: true, Ports: []int{6464}})
		h.Resend() // has it looked for
		pass(time.Minute)
		require.Len(t, h.Status().Sessions, 2)
		require.Equal(t, Ready, h.Status().Sessions[1].State)
		require.Len(t, s.Payloads(), 3, "the first, that of the resend, and one after the proof")
	})
}

// relay is a client whose socket and port belong to processes of known, different ids.
func relay(t *testing.T, v *machine) (socket, port *fakeserver.Server) {
	socket = v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
	port = v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Desktop})
	return socket, port
}

func TestAPortOfAnotherProcessMayBeThatOfASocket(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		socket, port local.Lineage
		served       bool // beside the socket
	}{
		"nothing is known": {local.Lineage{}, local.Lineage{}, false},
		"a child":          {local.Lineage{Exe: "/opt/discord", Parents: []int{1}}, local.Lineage{Exe: "/opt/relay", Parents: []int{100, 1}}, false},
		"its parent":       {local.Lineage{Exe: "/opt/discord", Parents: []int{200, 1}}, local.Lineage{Exe: "/opt/launcher", Parents: []int{1}}, false},
		"the same program": {local.Lineage{Exe: "/opt/discord", Parents: []int{1}}, local.Lineage{Exe: "/opt/discord", Parents: []int{1}}, false},
		"another program":  {local.Lineage{Exe: "/opt/discord", Parents: []int{1}}, local.Lineage{Exe: "/opt/other", Parents: []int{1}}, true},
		"one script has started both": {
			local.Lineage{Exe: "/app/bin/socat", Parents: []int{50, 20, 1}, Starters: []int{50}},
			local.Lineage{Exe: "/app/discord", Parents: []int{60, 50, 20, 1}, Starters: []int{60, 50}},
			false,
		},
		"two scripts, and one panel": {
			local.Lineage{Exe: "/opt/discord", Parents: []int{50, 20, 1}, Starters: []int{50}},
			local.Lineage{Exe: "/opt/ptb", Parents: []int{60, 20, 1}, Starters: []int{60}},
			true,
		},
		"one sandbox": {
			local.Lineage{Exe: "/app/bin/socat", Parents: []int{1}, Bundle: "pid:[1]"},
			local.Lineage{Exe: "/app/discord", Parents: []int{1}, Bundle: "pid:[1]"},
			false,
		},
		"two sandboxes": {
			local.Lineage{Exe: "/app/bin/socat", Parents: []int{1}, Bundle: "pid:[1]"},
			local.Lineage{Exe: "/app/discord", Parents: []int{1}, Bundle: "pid:[2]"},
			true,
		},
		"another one, but by whom?": {local.Lineage{Exe: "/opt/discord", Parents: []int{1}}, local.Lineage{Exe: "/opt/other", Parents: nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.lineages[100], v.lineages[200] = c.socket, c.port
				socket, port := relay(t, v)
				h := v.reporting(Options{}, devices.True, time.Minute)
				require.Equal(t, devices.True, mute(socket))
				st := h.Status().Sessions
				require.Len(t, st, 2)
				if c.served {
					require.Equal(t, Degraded, st[1].State)
					require.Equal(t, devices.True, mute(port))
					return
				}
				require.Equal(t, Waiting, st[1].State)
				require.Empty(t, port.Payloads())
			})
		})
	}
}

// A list that is on its way over a port when a socket greets, which may be the same client's, is
// waited for: given up it would cost a token, and could be taken after what the socket is sent.
func TestAListOnItsWayIsNotGivenUpForASocket(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.hidden = []int{6463}
		answer := make(chan struct{})
		var ended, answered time.Time // after synctest.Wait
		v.page(v.program(200), 6463, func(c net.Conn, r *http.Request) {
			if r.Method == http.MethodGet {
				replyTo(c, "404 Not Found", linktest.Fingerprint)
				return
			}
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = c.Read(make([]byte, 1))
				ended = time.Now()
			}()
			select {
			case <-answer:
				answered = time.Now()
				replyTo(c, "200 OK", accept(r.Header.Get("X-Nonce")))
			case <-gone:
			}
			<-gone
		})
		h := v.reporting(Options{}, devices.True, 10*time.Second)
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		h.publish(devices.False)
		pass(10 * time.Second)
		require.Empty(t, s.Payloads(), "it must not be overtaken")
		close(answer)
		pass(100 * time.Millisecond)
		require.False(t, answered.IsZero())
		require.False(t, ended.Before(answered))
		require.Equal(t, devices.False, mute(s))
		require.Len(t, s.Payloads(), 1)
	})
}

// A client that did not answer over HTTP has opened its socket since.
func TestASocketIsTriedWhereHTTPWasNotAnswered(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		v.page(process, 6463, func(c net.Conn, r *http.Request) {
			if r.Method == http.MethodGet {
				replyTo(c, "404 Not Found", linktest.Fingerprint)
			}
		})
		h := v.reporting(Options{}, devices.True, 2*time.Minute)
		require.Equal(t, Unsupported, h.session().State)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(time.Second)
		require.Equal(t, devices.True, mute(s))
		st := h.Status().Sessions
		require.Len(t, st, 1)
		require.Equal(t, Ready, st[0].State)
		require.Equal(t, IPC, st[0].Transport)
	})
}

// A WebSocket that is opened to prove a port costs the client a token as any other.
func TestAWebSocketForAProofCostsAToken(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.page(v.program(100), 6463, func(c net.Conn, r *http.Request) {
			if r.Header.Get("Upgrade") == "" {
				time.Sleep(time.Hour) // the free proof never comes
			}
			replyTo(c, "503 Busy", "")
		})
		v.start(Options{}).publish(devices.True)
		pass(25 * time.Second)
		tries := 0
		for _, r := range s.requests() {
			if r == "upgrade /" {
				tries++
			}
		}
		require.Equal(t, 2, tries, "as many as it has tokens")
	})
}

// A client's own WebSocket lets in nobody without an origin: it is not tried at the cost of a token.
func TestNoTokenIsSpentWhereTheWebSocketSurelyRefuses(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
		h := v.reporting(Options{}, devices.True, time.Second)
		h.publish(devices.False)
		pass(time.Second)
		require.Equal(t, devices.False, mute(s), "both tokens are for lists")
		require.Contains(t, h.session().Error, "registered origins")
		require.Equal(t, 2, s.Stats().Spent)
	})
}
