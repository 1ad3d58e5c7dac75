package rpcclient

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// A client that freezes keeps its link, and has the right state as soon as it goes on. Whether the
// list that it had in its hands when it froze, or one after, is the newest makes no difference.
func TestAFrozenClientHasTheNewestStateWhenItGoesOn(t *testing.T) {
	t.Parallel()
	for _, tr := range []Transport{IPC, WebSocket} {
		for _, changes := range [][]devices.Tri{{devices.False}, {devices.False, devices.True, devices.False}} {
			t.Run(fmt.Sprint(tr, " ", changes), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					process := v.program(100)
					s := v.client(process, fakeserver.Options{Profile: fakeserver.Documented, IPCDir: ipcDir, Bucket: 2})
					h := v.reporting(Options{Transports: only(tr)}, devices.True, time.Second)
					require.Equal(t, devices.True, mute(s))

					process.Freeze()
					for _, m := range changes {
						h.publish(m)
						pass(2 * time.Second)
					}
					pass(12*time.Second - time.Duration(len(changes))*2*time.Second)
					st := h.session()
					require.Equal(t, Slow, st.State)
					require.InDelta(t, 12, time.Since(st.Since).Seconds(), 0.1)
					require.Equal(t, uint64(2), st.Pending)
					require.Equal(t, uint64(1), st.Generation)
					require.Equal(t, []string{"Mic"}, st.Muted, "what it may still hold")
					require.False(t, h.Status().Connected())

					process.Thaw()
					pass(100 * time.Millisecond)
					require.Equal(t, devices.False, mute(s))
					st = h.session()
					require.Equal(t, Ready, st.State)
					require.Zero(t, st.Since)
					require.Empty(t, st.Muted)
					require.Equal(t, 1, s.Stats().Accepted-s.Stats().Probes, "the link is the same")
				})
			})
		}
	}
}

// A client that hangs for minutes is connected to anew, and stays slow until it answers.
func TestAClientThatHangsForMinutesIsConnectedToAnew(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		process.Freeze()
		h.publish(devices.False)
		for range 30 {
			pass(10 * time.Second)
			require.Equal(t, Slow, h.session().State)
			require.Equal(t, []string{"Mic"}, h.session().Muted)
		}
		process.Thaw()
		pass(100 * time.Millisecond)
		require.Equal(t, Ready, h.session().State)
		require.Equal(t, IPC, h.session().Transport)
		require.Equal(t, devices.False, mute(s))
		for _, p := range s.Payloads() {
			require.Equal(t, fakeserver.IPC, p.Transport, "nothing went another way meanwhile")
		}
	})
}

// A frozen client that is killed is lost, and not slow.
func TestAFrozenClientThatIsKilledIsForgotten(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.reporting(Options{}, devices.True, time.Second)
		process.Freeze()
		h.publish(devices.False)
		pass(10 * time.Second)
		process.Kill()
		pass(10 * time.Second)
		require.Empty(t, h.Status().Sessions)
	})
}

// A client of a kind that never answers leaves its socket behind when it is killed.
func TestAKilledClientIsNotCalledUnsupported(t *testing.T) {
	t.Parallel()
	for _, since := range []time.Duration{0, time.Hour} {
		t.Run(since.String(), func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				process := v.program(100)
				s := v.client(process, fakeserver.Options{Profile: fakeserver.ArRPC, IPCDir: ipcDir})
				h := v.reporting(Options{}, devices.True, time.Minute)
				require.Equal(t, Unsupported, h.session().State)
				if since > 0 { // its link has ended before: only looking tells
					s.DropConnections()
					pass(since)
					require.Equal(t, Unsupported, h.session().State)
					require.Zero(t, h.session().NextTry)
					require.Len(t, s.Payloads(), 1, "it is not asked again")
				}
				process.Kill()
				if since > 0 {
					pass(6 * time.Minute)
				}
				pass(time.Second)
				require.Empty(t, h.Status().Sessions)
				require.Equal(t, Searching, h.Status().State)
			})
		})
	}
}
