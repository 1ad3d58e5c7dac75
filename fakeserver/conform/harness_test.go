package conform

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // the tests wait for silent servers more than they work
	goleak.VerifyTestMain(m)
}

// atLast ends a test that hangs.
const atLast = 5 * time.Minute

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), atLast)
	t.Cleanup(cancel)
	return ctx
}

// conform runs and requires that the run is complete.
func conform(t *testing.T, target Target, o Options) *Report {
	t.Helper()
	report, err := Run(deadline(t), target, o)
	require.NoError(t, err)
	require.Len(t, report.Checks, len(checks(target)))
	for _, line := range strings.Split(report.Text(), "\n") {
		require.LessOrEqual(t, len(line), 120, line)
	}
	return report
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

// tcp serves on any free port and returns the URL.
func tcp(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, ln, handle)
	return "http://" + ln.Addr().String()
}

// unix serves on a socket and returns its path.
func unix(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "conform")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ln, err := net.Listen("unix", filepath.Join(dir, "discord-ipc-0"))
	require.NoError(t, err)
	serve(t, ln, handle)
	return ln.Addr().String()
}
