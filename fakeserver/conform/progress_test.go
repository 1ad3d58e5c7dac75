package conform

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

// follow does a run and returns what was heard of its progress.
func (m machine) follow(t *testing.T, target Target, o Options) (*Report, []Progress) {
	t.Helper()
	var heard []Progress
	o.Progress = func(p Progress) { heard = append(heard, p) }
	report := m.conform(t, target, o)
	for _, p := range heard {
		require.NotEmpty(t, find(t, report, p.Check).Got, "%s was announced and not tried", p.Check)
	}
	return report, heard
}

func TestProgress(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		_, target := m.launch(t, fakeserver.Options{})
		target.IPC = ""
		_, heard := m.follow(t, target, Options{All: true, Refill: time.Minute, Patience: time.Second})
		require.Greater(t, len(heard), 5)
		require.Equal(t, len(checks(target)), heard[0].Total)
		last := heard[len(heard)-1]
		require.Less(t, last.Remaining, time.Minute, "there is no rate limit")
		require.Greater(t, heard[0].Remaining, 10*time.Minute, "there might be one")
	})
}

// A quick run announces, counts and allows time for what it tries, nothing else.
func TestProgressOfAQuickRun(t *testing.T) {
	t.Parallel()
	const requests = 7 // two of the target's client id, five of others or none
	for name, c := range map[string]struct {
		opts  fakeserver.Options
		ipc   bool
		known int // requests after which all that will be tried is known
	}{
		"documented":          {opts: fakeserver.Options{}},
		"documented with IPC": {opts: fakeserver.Options{}, ipc: true},
		"desktop":             {opts: fakeserver.Options{Profile: fakeserver.Desktop}, known: 2},
		"desktop with IPC":    {opts: fakeserver.Options{Profile: fakeserver.Desktop}, ipc: true},
		"login screen":        {opts: fakeserver.Options{Profile: fakeserver.Desktop, Fault: fakeserver.Fault{Kind: fakeserver.FaultLogin}}, ipc: true, known: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				_, target := m.launch(t, c.opts)
				if !c.ipc {
					target.IPC = ""
				}
				report, heard := m.follow(t, target, Options{Patience: time.Second})
				tried := len(report.Checks) - report.NotTried()
				require.Len(t, heard, requests)
				for i, p := range heard {
					require.Equal(t, time.Duration(requests-i)*DefaultRefill, p.Remaining, p.Check)
					require.Less(t, p.Done, p.Total)
					if i < c.known {
						require.Greater(t, p.Total, tried)
					} else {
						require.Equal(t, tried, p.Total, p.Check)
					}
				}
			})
		})
	}
}
