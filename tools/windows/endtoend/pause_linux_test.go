package endtoend

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPauseUntilTheNextLogIn outlasts a kill within the session, and no boot of Windows. It is the host that starts the agent again: where
// nothing but a service runs, Wine ends as if it were shut down.
func TestPauseUntilTheNextLogIn(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	v := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand") // whose service nobody starts
	host := func() *process {
		return p.start(v.folder+v.program+"w.exe", "host", "run", "--config="+v.folder+"config.yaml")
	}
	status := func() string {
		out, _ := v.run(v.folder+v.program+".exe", "status", "--json")
		return out
	}
	host()
	killed := v.another("started", 0)
	out, code := v.run(v.folder+v.program+".exe", "pause", "--until-login")
	require.Zero(t, code, out)
	v.lists("paused", 0)
	p.kill("/pid", strconv.Itoa(killed))
	var pid int
	p.eventually("started again after a kill", func() bool { pid = v.pid(); return pid != 0 && pid != killed })
	require.Contains(t, status(), `"until_login": true`)
	p.boot()
	host()
	v.another("started in the next session", pid)
	require.NotContains(t, status(), `"pause": {`)
}
