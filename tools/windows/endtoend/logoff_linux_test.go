package endtoend

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/supervise"
)

// TestTheAgentEndsBeforeWindowsHasItsAnswer at a log-off, where what is left of a process after the answer is ended with a code that says
// nothing: the client has the empty list, or had its time. What looks after the agent, and is told last, has one again after a minute: here
// the user has called the log-off off.
func TestTheAgentEndsBeforeWindowsHasItsAnswer(t *testing.T) {
	p := newPrefix(t, "unix:/nonexistent")
	v, logOff := p.newVendor("acme", "123456789012345678", path("sidetone-service.exe"), "demand"), buildTool(t, "logoff")
	host := p.start(v.folder+v.program+"w.exe", "host", "run", "--config="+v.folder+"config.yaml")
	pid := v.another("started", 0)
	for name, fault := range map[string]fakeserver.FaultKind{
		"a client that takes it":       fakeserver.FaultNone,
		"a client that answers nobody": fakeserver.FaultNoAnswer,
	} {
		// A client that answered nobody still has the list of the agent before: this one's must have come, too.
		p.eventually(name, func() bool {
			all := v.client.Payloads()
			return len(all[len(all)-1].Devices) == 1
		})
		require.NoError(t, v.client.SetFault(fakeserver.Fault{Kind: fault}))
		out, code := p.run(logOff, strconv.Itoa(pid))
		all := v.client.Payloads()
		require.Empty(t, all[len(all)-1].Devices, name)
		require.Zero(t, code, out)
		require.Regexp(t, fmt.Sprintf(`^may the session end: 1\r?\nit has ended with %d\r?\n$`, supervise.ExitSession), out, name)
		require.Equal(t, fault == fakeserver.FaultNone, len(v.client.Devices()) == 0, name)
		require.NoError(t, v.client.SetFault(fakeserver.Fault{}))
		time.Sleep(20 * time.Second) // a failure is waited for 1 s, this for a minute
		require.Zero(t, v.pid(), name+": the session may be about to go")
		pid = v.another(name, pid)
	}
	out, code := v.run(v.folder+v.program+".exe", "stop")
	require.Zero(t, code, out)
	host.ends(t, 0)
}
