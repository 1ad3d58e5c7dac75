package endtoend

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/crash"
)

// TestServiceFromBootToRemoval has Windows start the service by itself, as it boots. The agent is there again after it, or the service, was
// killed, goes on in safe mode after crashes, and empties the client's list when the service is stopped. A removal leaves nothing.
func TestServiceFromBootToRemoval(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	service := buildTool(t, "anyservice")
	v := p.newVendor("acme", "123456789012345678", service, "auto")
	p.boot()
	first := v.another("started as Windows booted", 0)

	p.kill("/pid", strconv.Itoa(first))
	second := v.another("started again after a kill", first)
	p.kill("/im", v.program+"-service.exe")
	p.eventually("its agent has ended with it", func() bool { return v.pid() == 0 })
	p.eventually("a service that can be started anew", func() bool { // Wine's service manager notices the end a little later
		_, code := p.run(`C:\windows\system32\sc.exe`, "start", v.program)
		return code == 0
	})
	pid := v.another("started by the service that was started anew", second)

	p.crashUntilSafe(v.folder+v.program+".exe", v.client, pid, v.another)
	v.sc("stop", v.program)
	v.lists("stopped", 0)
	require.Zero(t, v.pid())
	v.sc("delete", v.program)
	p.boot()
	registry, err := os.ReadFile(filepath.Join(p.folder, "system.reg"))
	require.NoError(t, err)
	require.NotContains(t, string(registry), v.program)
}

// boot has Windows end and start.
func (p prefix) boot() {
	p.wine("halt")
	_, code := p.run(`C:\windows\system32\wineboot.exe`)
	require.Zero(p.t, code)
}

func (p prefix) kill(which ...string) {
	p.t.Helper()
	out, code := p.run(`C:\windows\system32\taskkill.exe`, append([]string{"/f"}, which...)...)
	require.Zero(p.t, code, out)
}

// crashUntilSafe has an agent crash until it goes on in safe mode, and reports in it. another waits for the next one.
func (p prefix) crashUntilSafe(program string, client *fakeserver.Server, pid int, another func(what string, than int) int) {
	p.t.Helper()
	crasher := buildTool(p.t, "crash")
	var crashes, payloads int
	for safe := false; !safe; crashes++ {
		require.Less(p.t, crashes, 2*crash.Limit, "it is not in safe mode yet")
		payloads = len(client.Payloads())
		out, code := p.run(crasher, strconv.Itoa(pid))
		require.Zero(p.t, code, out)
		pid = another("started again after a crash", pid)
		out, code = p.run(program, "status", "--json")
		require.Zero(p.t, code, out)
		safe = strings.Contains(out, "agent.safe_mode")
	}
	require.GreaterOrEqual(p.t, crashes, crash.Limit)
	p.eventually("it reports in safe mode", func() bool { return len(client.Payloads()) > payloads })
	require.Len(p.t, client.Devices(), 1)
}
