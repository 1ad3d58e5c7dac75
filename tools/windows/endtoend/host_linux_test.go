package endtoend

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/supervise"
)

// TestHostEndsAsItsAgent: what looks after the agent of a session ends by its code where a new start would not help, and starts it again
// after a kill. A pause outlasts all of that.
func TestHostEndsAsItsAgent(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	v := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand") // whose service nobody starts
	config := "--config=" + v.folder + "config.yaml"
	host := func(config string) *process { return p.start(v.folder+v.program+"w.exe", "host", "run", config) }
	ends := func(c *process, code int) {
		t.Helper()
		select {
		case <-c.ended:
			require.Equal(t, code, c.ProcessState.ExitCode(), "%s", &c.output)
		case <-time.After(patience):
			require.Fail(t, "it goes on", c.said())
		}
	}
	paused := func() bool {
		out, _ := v.run(v.folder+v.program+".exe", "status", "--json")
		return strings.Contains(out, `"pause": {`)
	}
	does := func(verb string) {
		t.Helper()
		out, code := v.run(v.folder+v.program+".exe", verb)
		require.Zero(t, code, out)
	}

	ends(host(config+".missing"), supervise.ExitConfig)
	first := host(config)
	pid := v.another("started", 0)
	v.lists("started", 1)
	ends(host(config), supervise.ExitRunning)
	require.Equal(t, pid, v.pid(), "the other one goes on")

	does("pause")
	v.lists("paused", 0)
	before := len(v.client.Payloads())
	killed := pid
	p.kill("/pid", strconv.Itoa(killed))
	p.eventually("started again after a kill", func() bool { pid = v.pid(); return pid != 0 && pid != killed })
	require.True(t, paused())
	terminal := p.start(v.folder+v.program+".exe", "run", "--replace", config)
	ends(first, supervise.ExitReplaced)
	p.eventually("it goes on in a terminal", func() bool { next := v.pid(); return next != 0 && next != pid })
	require.True(t, paused())
	for _, payload := range v.client.Payloads()[before:] {
		require.Empty(t, payload.Devices, "the pause goes on")
	}
	does("resume")
	v.lists("resumed", 1)
	does("stop")
	v.lists("stopped", 0)
	ends(terminal, 0)
}
