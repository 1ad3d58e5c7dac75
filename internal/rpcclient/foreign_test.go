package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/local"
)

// A client that runs as administrator, or in another session, is left alone, and it is said why.
func TestClientsOfOtherRightsAreLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		owner local.Process
		code  health.Code
	}{
		"as administrator":            {local.Process{Denied: true}, health.ClientElevated},
		"as administrator, and seen":  {local.Process{PID: 9, Name: "Discord", Denied: true}, health.ClientElevated},
		"in another session":          {local.Process{PID: 9, UID: someUser, OtherSession: true}, health.OtherSession},
		"another user's in another":   {local.Process{PID: 9, UID: "1001", OtherSession: true}, health.OtherOwner},
		"of whom nobody tells":        {local.Process{PID: 9}, health.OwnerUnknown},
		"denied in another session":   {local.Process{PID: 9, Denied: true, OtherSession: true}, health.ClientElevated},
		"of nobody, in another place": {local.Process{PID: 9, OtherSession: true}, health.OwnerUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.windows = true
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: ipcDir, NoTCP: true})
				v.own(s.IPCPath(), c.owner)
				h := v.reporting(Options{}, devices.True, time.Second)
				require.Equal(t, Foreign, h.session().State)
				require.Equal(t, c.code, h.session().Reason.Code)
				require.Equal(t, s.IPCPath(), h.session().Socket)
				pass(time.Hour)
				require.Empty(t, s.Payloads())
				require.Len(t, h.Status().Sessions, 1)

				v.own(s.IPCPath(), local.Process{PID: 100, UID: someUser})
				pass(7 * time.Minute)
				require.Equal(t, devices.True, mute(s), "it was restarted so fast that nobody has seen it")
				require.Equal(t, Ready, h.session().State)
			})
		})
	}
}

// The same for who holds a port.
func TestPortsOfOtherRightsAreLeftAlone(t *testing.T) {
	for name, owner := range map[string]local.Process{
		"denied": {PID: 9, Denied: true}, "other session": {PID: 9, UID: someUser, OtherSession: true},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *machine) {
				v.own(6463, owner)
				s := v.client(v.program(100), fakeserver.Options{Profile: fakeserver.Desktop})
				h := v.reporting(Options{}, devices.True, time.Hour)
				require.Equal(t, Foreign, h.session().State)
				require.Empty(t, s.Payloads())
				require.Zero(t, v.dials(time.Minute), "not even a probe")
			})
		})
	}
}
