package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// A client that has ended the connection, and is not connected to again at the moment of the end,
// is reached for its farewell if it can be in time.
func TestAClientThatWasJustLostIsToldOfTheEnd(t *testing.T) {
	t.Parallel()
	for policy, want := range map[ExitPolicy]int{ExitClear: 0, ExitUnmute: 2, ExitLeave: 2} {
		for _, wait := range []time.Duration{0, 100 * time.Millisecond} {
			t.Run(string(policy), func(t *testing.T) {
				inVirtualTime(t, func(t *testing.T, v *machine) {
					s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
					h := v.start(Options{OnExit: policy})
					h.publish(devices.True)
					pass(time.Second)
					s.DropConnections()
					pass(wait)
					start := time.Now()
					h.stop()
					require.LessOrEqual(t, time.Since(start), DefaultOptions.StopTimeout)
					require.Len(t, s.Devices(), want)
					require.Equal(t, policy == ExitLeave, mute(s) == devices.True)
				})
			})
		}
	}
}

// Nobody is waited for who cannot be reached in time.
func TestTheEndDoesNotWaitForATokenOrForWhoIsFrozen(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *machine) {
		process := v.program(100)
		s := v.client(process, fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir})
		h := v.start(Options{})
		h.publish(devices.True)
		pass(time.Second)
		s.DropConnections()
		pass(time.Second)
		s.DropConnections() // the second token is spent
		pass(50 * time.Millisecond)
		start := time.Now()
		h.stop()
		require.LessOrEqual(t, time.Since(start), DefaultOptions.StopTimeout)
	})
}
