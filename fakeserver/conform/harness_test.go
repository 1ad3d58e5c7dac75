package conform

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/testlab/ipctest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "5") // what asks over the machine's sockets waits more than it works
	goleak.VerifyTestMain(m, ipctest.Kept)
}

// atLast ends a test that hangs in real time.
const atLast = 5 * time.Minute

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), atLast)
	t.Cleanup(cancel)
	return ctx
}

// A machine has a loopback interface and socket files in memory.
type machine struct{ server, asker *memnet.Process }

// inMemory runs a test on a machine of its own, in virtual time.
func inMemory(t *testing.T, test func(*testing.T, machine)) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(memnet.Options{})
		test(t, machine{network.Process(local.Process{PID: 7}), network.Process(local.Process{PID: 1})})
	})
}

func (m machine) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network == networkIPC {
		c, _, err := m.asker.DialIPC(ctx, address)
		return c, err
	}
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return m.asker.DialPort(ctx, int(addr.Port()))
}

// conform runs and requires that the run is complete.
func (m machine) conform(t *testing.T, target Target, o Options) *Report {
	t.Helper()
	o.Dial = m.dial
	report, err := Run(t.Context(), target, o)
	require.NoError(t, err)
	require.Len(t, report.Checks, len(checks(target)))
	for _, line := range strings.Split(report.Text(), "\n") {
		require.LessOrEqual(t, len(line), 120, line)
	}
	return report
}

// tcp serves on a port and returns the URL.
func (m machine) tcp(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	ln, port, err := m.server.ListenPort([]int{0})
	require.NoError(t, err)
	serve(t, ln, handle)
	return fmt.Sprintf("http://127.0.0.1:%d", port)
}

// ipc serves on a socket and returns its path.
func (m machine) ipc(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	ln, path, err := m.server.ListenIPC("/run")
	require.NoError(t, err)
	serve(t, ln, handle)
	return path
}

func find(t *testing.T, r *Report, id string) Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.ID == id {
			return c
		}
	}
	require.Fail(t, "no such check", id)
	return Check{}
}

// table is a report in a form that is the same for each run.
func table(r *Report) string {
	var b strings.Builder
	for _, c := range r.Checks {
		got := c.Got
		if got == "" {
			got = "not tried: " + c.Why
		}
		fmt.Fprintf(&b, "%-26s %-9s %-34s spec %-9s client %s\n", c.ID, c.Transport, got, c.Spec.Verdict, c.Client.Verdict)
	}
	b.WriteString(r.Summary() + "\n")
	return b.String()
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// serve accepts connections and hands each to a goroutine; all have ended when
// the test has.
func serve(t *testing.T, ln net.Listener, handle func(net.Conn)) {
	t.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			running.Go(func() {
				defer c.Close()
				handle(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
}
