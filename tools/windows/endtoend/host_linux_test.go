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
// after a kill or an update. A pause outlasts all of that.
func TestHostEndsAsItsAgent(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	v := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand") // whose service nobody starts
	config := "--config=" + v.folder + "config.yaml"
	host := func(config string) *process { return p.start(v.folder+v.program+"w.exe", "host", "run", config) }
	paused := func() bool {
		out, _ := v.run(v.folder+v.program+".exe", "status", "--json")
		return strings.Contains(out, `"pause": {`)
	}
	does := func(verb string) {
		t.Helper()
		out, code := v.run(v.folder+v.program+".exe", verb)
		require.Zero(t, code, out)
	}

	host(config+".missing").ends(t, supervise.ExitConfig)
	first := host(config)
	pid := v.another("started", 0)
	v.lists("started", 1)
	host(config).ends(t, supervise.ExitRunning)
	require.Equal(t, pid, v.pid(), "the other one goes on")

	does("pause")
	v.lists("paused", 0)
	before := len(v.client.Payloads())
	killed := pid
	p.kill("/pid", strconv.Itoa(killed))
	p.eventually("started again after a kill", func() bool { pid = v.pid(); return pid != 0 && pid != killed })
	require.True(t, paused())
	does("upgrade")
	upgraded := 0
	p.eventually("upgraded", func() bool { upgraded = v.pid(); return upgraded != 0 && upgraded != pid })
	p.kill("/pid", strconv.Itoa(upgraded))
	p.eventually("the newer program is looked after, too", func() bool { pid = v.pid(); return pid != 0 && pid != upgraded })
	require.True(t, paused())
	terminal := p.start(v.folder+v.program+".exe", "run", "--replace", config)
	first.ends(t, 0)
	p.eventually("it goes on in a terminal", func() bool { next := v.pid(); return next != 0 && next != pid })
	require.True(t, paused())
	for _, payload := range v.client.Payloads()[before:] {
		require.Empty(t, payload.Devices, "the pause goes on")
	}
	does("resume")
	v.lists("resumed", 1)
	does("stop")
	v.lists("stopped", 0)
	terminal.ends(t, 0)
}

// TestStopWhileTheAgentIsAboutToBeStartedAgain: whoever says stop then means that it stays so. The host of another vendor goes on.
func TestStopWhileTheAgentIsAboutToBeStartedAgain(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	acme := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand")
	beta := p.newVendor("beta", "223456789012345678", path("sidetone-service.exe"), "demand")
	var hosts []*process
	for _, v := range []*vendor{acme, beta} {
		hosts = append(hosts, p.start(v.folder+v.program+"w.exe", "host", "run", "--config="+v.folder+"config.yaml"))
		v.another("started", 0)
	}
	pid := acme.pid()
	for range 4 { // each wait is twice as long as the one before
		p.kill("/pid", strconv.Itoa(pid))
		pid = acme.another("started again", pid)
	}
	p.kill("/pid", strconv.Itoa(pid))
	out, _ := acme.run(acme.folder+acme.program+".exe", "service", "status")
	require.Contains(t, out, "it is about to be started")
	out, code := acme.run(acme.folder+acme.program+".exe", "service", "stop")
	require.Zero(t, code, out)
	hosts[0].ends(t, 0)
	require.NotZero(t, beta.pid())
	out, code = beta.run(beta.folder+beta.program+".exe", "stop")
	require.Zero(t, code, out)
	hosts[1].ends(t, 0)
}

// ends waits until the program has ended with that code.
func (c *process) ends(t *testing.T, code int) {
	t.Helper()
	select {
	case <-c.ended:
		require.Equal(t, code, c.ProcessState.ExitCode(), "%s", &c.output)
	case <-time.After(patience):
		require.Fail(t, "it goes on", c.said())
	}
}

// TestHostWritesToTheEventLog by the name of its agent, where that is registered. Wine keeps no events, and says which it gets.
func TestHostWritesToTheEventLog(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	v := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand")
	p.env = append(p.env, "WINEDEBUG=fixme+advapi,trace+eventlog")
	says := func() string {
		out, code := p.run(v.folder+v.program+"w.exe", "host", "run", "--config="+v.folder+"missing.yaml")
		require.Equal(t, supervise.ExitConfig, code, out)
		return out
	}
	require.NotContains(t, says(), "the agent has ended", "nobody has registered it")
	out, code := p.run(`C:\windows\system32\reg.exe`, "add", `HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\`+v.program,
		"/v", "EventMessageFile", "/t", "REG_EXPAND_SZ", "/d", `%SystemRoot%\System32\EventCreate.exe`)
	require.Zero(t, code, out)
	wanted := `(?s)RegisterEventSourceW \(\(null\),L"` + v.program + `"\).*ReportEventW L"msg=.{2}the agent has ended.{2} session=1 code=78`
	require.Regexp(t, wanted, says())
}
