package rpcclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/memnet"
)

// pass lets time go by, and all that happens at its end.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// mute is what a client holds of the headset's mute; Unknown also without the headset.
func mute(s *fakeserver.Server) devices.Tri {
	for _, d := range s.Devices() {
		if d.HardwareMute != nil {
			return devices.Of(*d.HardwareMute)
		}
	}
	return devices.Unknown
}

// page is a program on a port that answers each request as handle says, and remembers them.
type page struct {
	mu   sync.Mutex
	seen []string // method and path of each request; "upgrade" is the method of a WebSocket
}

// page has the process listen on the port.
func (v *machine) page(p *memnet.Process, port int, handle func(c net.Conn, r *http.Request)) *page {
	v.t.Helper()
	l, _, err := p.ListenPort([]int{port})
	require.NoError(v.t, err)
	s := &page{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					what := req.Method
					if req.Header.Get("Upgrade") != "" {
						what = "upgrade"
					}
					s.mu.Lock()
					s.seen = append(s.seen, what+" "+req.URL.Path)
					s.mu.Unlock()
					req.Header.Set("X-Nonce", nonceOf(body))
					handle(c, req)
				}
			})
		}
	})
	v.t.Cleanup(func() {
		p.Kill()
		wg.Wait()
	})
	return s
}

func (s *page) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func replyTo(c net.Conn, status, body string) {
	(&rawConn{Conn: c}).reply(status, jsonType, body)
}
