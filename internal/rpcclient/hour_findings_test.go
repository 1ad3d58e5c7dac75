package rpcclient

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// TestARepeatedPostCostsASecondToken: a kept connection breaks after the client has taken the
// request. Sending it once more needs a token, like any other request (rule R67).
func TestARepeatedPostCostsASecondToken(t *testing.T) {
	m := newMachine(t)
	s := desktops(t, m, 1, func(o *fakeserver.Options) { o.IPCDir, o.Bucket, o.Refill = "", 2, time.Hour })[0]
	opts := quick(s.Port())
	opts.Local, opts.Transports, opts.Tokens, opts.TokenEvery, opts.HTTPTimeout = m, only(HTTP), 2, time.Hour, patience
	h := start(t, opts)
	h.publish(devices.False)
	has(t, s, devices.False)
	require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultCloseAfter, Count: 1, Times: 1}))
	h.publish(devices.True)
	eventually(t, "it has broken", func() bool { return s.Stats().Faults == 1 })
	eventually(t, "it waits for a token, or hangs in the client's line", func() bool {
		return s.Stats().Waited > 0 || time.Until(h.session().NextTry) > time.Minute
	})
	require.Zero(t, s.Stats().Waited, "nothing ever waits in the client's line")
}

// TestWhatIsGivenUpHasNoNextTry: one that is asked again only when it restarts is not said to be
// tried again by itself, least of all in the past.
func TestWhatIsGivenUpHasNoNextTry(t *testing.T) {
	m := newMachine(t)
	s := serve(t, fakeserver.Options{IPCDir: m.dir, NoTCP: true, Fault: fakeserver.Fault{Kind: fakeserver.FaultOffline}})
	m.own(s.IPCPath(), Process{PID: 100, UID: "1000"})
	opts := quick()
	opts.Local = m
	h := start(t, opts)
	h.publish(devices.True)
	eventually(t, "refused for now", func() bool { return h.session().State == Refused && !h.session().NextTry.IsZero() })
	require.NoError(t, s.SetFault(fakeserver.Fault{Kind: fakeserver.FaultCloseCode, Code: CodeInvalidOrigin}))
	eventually(t, "refused for good", func() bool { return h.session().State == Refused && s.Stats().Faults >= 2 && s.Connections() == 0 })
	require.NoError(t, s.SetFault(fakeserver.Fault{}))
	eventually(t, "no next try", func() bool { return h.session().State == Refused && h.session().NextTry.IsZero() })
}
