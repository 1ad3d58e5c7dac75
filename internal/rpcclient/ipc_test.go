package rpcclient

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/rpcclient/link/linktest"
)

func TestReportsEveryChangeOverIPC(t *testing.T) {
	everywhere(t, func(t *testing.T, m *machine) {
		s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		opts := m.quick()
		opts.Local = m
		h := m.start(opts)
		for _, mute := range []devices.Tri{devices.False, devices.True, devices.Unknown, devices.False} {
			h.publish(mute)
			has(t, s, mute)
		}
		require.Equal(t, s.IPCPath(), h.session().Socket)
		require.Equal(t, 1, s.Stats().Handshakes)
		h.stop()
		hasNone(t, s)
		spotless(t, s)
	})
}

// TestFaultsOverIPC shows, for every fault that a socket can have, what the status says and
// that the list arrives once the fault is over. Where the client is not asked again before it
// restarts, it restarts.
func TestFaultsOverIPC(t *testing.T) {
	t.Parallel()
	for fault, status := range map[string]string{
		"refuse":              "no client found on any IPC socket",
		"hang":                "no answer in time",
		"login":               "at its login screen",
		"offline":             "invalid client id",
		"close-code=4000":     "cannot reach its own servers",
		"close-code=4001":     "invalid origin",
		"close-code=4002":     "rate limited",
		"close-code=4003":     "token revoked",
		"close-code=4004":     "invalid version",
		"close-code=1003":     "bad data",
		"ready-never":         "no answer in time",
		"close-after=1":       "lost",
		"die":                 "lost",
		"no-answer":           "does not know certified devices",
		"wrong-nonce":         "does not know certified devices",
		"extra-answer":        "",
		"twice":               "",
		"answer-late=100ms":   "",
		"ready-late=100ms":    "",
		"bad-json":            "not the client's RPC server",
		"huge":                "more than 3145728",
		"half":                "does not know certified devices",
		"deep":                "not the client's RPC server",
		"error=1000":          "failed in the client",
		"error=4000:[0] bad":  "one bad device rejects the whole list",
		"error=4002":          "unknown command",
		"error=4006:no scope": "not authorized",
	} {
		t.Run(fault, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, m *machine) {
				f, err := fakeserver.ParseFault(fault)
				require.NoError(t, err)
				s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, Bucket: -1, IPCDir: m.dir, NoTCP: true, Fault: f})
				opts := quick()
				opts.Local = m
				opts.AnswerTimeout, opts.HTTPTimeout = 2*time.Second, 2*time.Second
				h := m.start(opts)
				m.appear()
				h.publish(devices.True)
				if status == "" {
					has(t, s, devices.True)
					eventually(t, "ready", h.connected)
					require.Empty(t, h.trouble())
					return
				}
				eventually(t, "the status says what is wrong", func() bool {
					return strings.Contains(h.trouble()+remedyOf(h.session().Reason), status)
				})
				require.NoError(t, s.SetFault(fakeserver.Fault{}))
				if h.session().NextTry.IsZero() && slices.Contains([]State{Unsupported, Refused}, h.session().State) {
					require.NoError(t, s.Restart())
				}
				m.appear()
				h.publish(devices.False)
				has(t, s, devices.False)
				eventually(t, "ready again", func() bool { return h.connected() && h.trouble() == "" })
			})
		})
	}
}

func TestStaleSocketIsLeftAlone(t *testing.T) {
	everywhereWithFiles(t, func(t *testing.T, m *machine) {
		path := m.socket(0)
		m.serveIPC(path, func(linktest.Frames) {}).kill()
		opts := m.quick(m.freePorts(1)...)
		opts.Local = m
		h := m.start(opts)
		eventually(t, "a note", func() bool {
			return strings.Contains(strings.Join(health.English.Phrases(h.Status().Notes), "\n"), "refused")
		})
		require.Equal(t, Searching, h.Status().State)

		m.remove(path)
		s := m.serve(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: m.dir, NoTCP: true})
		require.Equal(t, path, s.IPCPath())
		m.appear()
		h.publish(devices.True)
		has(t, s, devices.True)
		eventually(t, "no note", func() bool { return len(h.Status().Notes) == 0 })
	})
}
