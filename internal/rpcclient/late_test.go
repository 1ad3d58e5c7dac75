package rpcclient

import (
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
)

// A client that is late with the free proof is waited for, and is asked for nothing that costs it a token.
func TestALateFreeProofIsOne(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{600 * time.Millisecond, 3 * time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				port := v.page(v.program(100), 6463, func(c net.Conn, r *http.Request) {
					if r.Method == http.MethodGet {
						time.Sleep(late)
						replyTo(c, "404 Not Found", linktest.Fingerprint)
						return
					}
					replyTo(c, "200 OK", accept(r.Header.Get("X-Nonce")))
				})
				h := v.reporting(Options{}, devices.True, late+100*time.Millisecond)
				require.Equal(t, Degraded, h.session().State)
				require.Equal(t, []string{"GET /", "POST /rpc"}, port.requests())
			})
		})
	}
}

// Where only the first client is wanted, who takes long to prove to be one does not hold up the next.
func TestALatePortHoldsUpNobody(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.page(v.program(100), 6463, func(net.Conn, *http.Request) { time.Sleep(time.Hour) })
		s := v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Desktop, Ports: []int{6464}})
		v.reporting(Options{Clients: FirstClient}, devices.True, 900*time.Millisecond)
		require.Empty(t, s.Payloads())
		pass(200 * time.Millisecond)
		require.Equal(t, devices.True, mute(s))
	})
}

// What proves a server without the free proof waits in the line that others left behind: given up, it
// would lengthen it.
func TestAProofByAnEmptyListWaitsInLine(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, Ports: []int{6464}})
		s := v.client(v.program(200), fakeserver.Options{Profile: fakeserver.Desktop, NoFingerprint: true})
		for range 3 {
			before := v.reporting(Options{}, devices.False, 300*time.Millisecond)
			before.stop()
		}
		v.start(Options{}).publish(devices.True)
		pass(5 * time.Minute)
		require.Equal(t, devices.True, mute(s))
	})
}

// An empty list that was to prove something does not come after what is sent over a socket, which may
// be the same client's.
func TestASocketWaitsForAProofByAnEmptyList(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.hidden = []int{6463}
		var asked, ended time.Time // after synctest.Wait
		v.page(v.program(200), 6463, func(c net.Conn, r *http.Request) {
			if r.Method == http.MethodGet {
				replyTo(c, "404 Not Found", "{}")
				return
			}
			asked = time.Now()
			_, _ = c.Read(make([]byte, 1))
			ended = time.Now()
		})
		v.reporting(Options{}, devices.True, 10*time.Second)
		require.False(t, asked.IsZero())
		require.True(t, ended.IsZero(), "it waits for the answer")
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
		pass(time.Second)
		require.Equal(t, devices.True, mute(s))
		require.False(t, ended.IsZero())
		require.False(t, s.Payloads()[0].Time.Before(ended))
		synctest.Wait()
	})
}
