package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// transports are those over which a client has taken its lists, in order.
func transports(s *fakeserver.Server) (list []fakeserver.Transport) {
	for _, p := range s.Payloads() {
		list = append(list, p.Transport)
	}
	return list
}

// Nobody knows whose the port is. What it was told while the socket was lost is over once the
// client is served over its socket again: the end says nothing older.
func TestTheEndSaysNothingOlderThanTheLastList(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.hidden = []int{6463}
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.start(Options{OnExit: ExitUnmute})
		h.generation++
		h.Publish(devices.Snapshot{Generation: h.generation, At: time.Now()})
		pass(time.Second)
		s.DropConnections()
		pass(2 * time.Minute)
		require.Equal(t, []fakeserver.Transport{fakeserver.IPC, fakeserver.HTTP, fakeserver.IPC}, transports(s))
		h.publish(devices.True)
		pass(time.Second)
		require.Equal(t, devices.True, mute(s))
		h.stop()
		require.Len(t, s.Devices(), 2)
		require.Equal(t, devices.Unknown, mute(s))
		require.NotContains(t, transports(s)[3:], fakeserver.HTTP)
	})
}

// A client that leaves its first lists without an answer for a while may be the one that holds a
// port of unknown owner. A list would wait in its line there, and be taken after a newer one.
func TestASlowClientGetsNoListOverItsPortOfUnknownOwner(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		v.hidden = []int{6463}
		s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		fault, err := fakeserver.ParseFault("2*answer-late=8s")
		require.NoError(t, err)
		require.NoError(t, s.SetFault(fault))
		h := v.reporting(Options{}, devices.False, 400*time.Millisecond)
		h.Resend() // it is to be asked once more
		h.publish(devices.Unknown)
		pass(10600 * time.Millisecond)
		h.publish(devices.True)
		pass(4 * time.Second)
		require.Equal(t, devices.True, mute(s))
		pass(time.Minute)
		require.Equal(t, devices.True, mute(s))
		require.NotContains(t, transports(s), fakeserver.HTTP)
	})
}
