//go:build linux

package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	var hundred sample
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		s    sample
		p    int
		want time.Duration
	}{
		{nil, 50, 0},
		{sample{7}, 1, 7},
		{sample{7}, 99, 7},
		{sample{3, 1, 2}, 50, 2},
		{sample{3, 1, 2, 4}, 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		require.Equal(t, c.want, c.s.percentile(c.p), "p%d of %v", c.p, c.s)
	}
	require.Equal(t, time.Duration(100), hundred[0], "the sample keeps its order")
	require.Equal(t, time.Duration(100), hundred.max())
}

func TestBusiest(t *testing.T) {
	at := func(list ...int) []time.Time {
		var out []time.Time
		for _, n := range list {
			out = append(out, time.Unix(0, 0).Add(time.Duration(n)*time.Millisecond))
		}
		return out
	}
	for _, c := range []struct {
		times []time.Time
		want  int
	}{
		{nil, 0},
		{at(0), 1},
		{at(0, 999), 2},
		{at(0, 1000), 1},
		{at(0, 900, 1100, 1200, 1899, 2500), 4},
		{at(0, 0, 0), 3},
	} {
		require.Equal(t, c.want, busiest(c.times, time.Second), "%v", c.times)
	}
}

func TestParseBenchmarks(t *testing.T) {
	r, err := parseBenchmarks(`goos: linux
BenchmarkScan/nobody-else-2         	    1000	    422207 ns/op	     22824 connect-p50-ns
BenchmarkX/endpoints=10/products=100-16  5  1.5 ns/op
BenchmarkX/endpoints=10/products=100
PASS
`)
	require.NoError(t, err)
	require.Equal(t, results{
		"BenchmarkScan/nobody-else":            {"ns/op": 422207, "connect-p50-ns": 22824},
		"BenchmarkX/endpoints=10/products=100": {"ns/op": 1.5},
	}, r)
	_, err = r.get("BenchmarkScan/nobody-else", "allocs/op")
	require.ErrorContains(t, err, "allocs/op")
	_, err = r.get("BenchmarkY", "ns/op")
	require.ErrorContains(t, err, "BenchmarkY")

	_, err = parseBenchmarks("BenchmarkZ-2 10 fast ns/op\n")
	require.ErrorContains(t, err, "BenchmarkZ")
}

func TestReadUsage(t *testing.T) {
	before, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, before.rss)
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; { // use some CPU time
		_ = strings.Repeat("x", 1000)
	}
	time.Sleep(time.Millisecond) // a context switch at least
	after, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after.cpu, before.cpu)
	require.Greater(t, after.switches, before.switches)

	_, err = readUsage(1 << 30)
	require.Error(t, err)
}

func TestReport(t *testing.T) {
	text := report([]row{
		{figure: "speed", measured: "1 ms", baseline: "2 ms", ratio: "0.50×", target: "≤ 1×", met: true, note: "A note."},
		{figure: "size", measured: "13 MiB", target: "≤ 12 MiB", note: "A note.", excuse: "It is fat."},
	}, []string{"CPU: fast"})
	require.Contains(t, text, "- CPU: fast\n")
	require.Contains(t, text, "| speed | 1 ms | 2 ms | 0.50× | ≤ 1× | yes |\n")
	require.Contains(t, text, "| size | 13 MiB | – | – | ≤ 12 MiB | **no** |\n")
	require.Equal(t, 1, strings.Count(text, "A note."))
	require.Contains(t, text, "## Missed targets\n\n- size: 13 MiB, target ≤ 12 MiB. It is fat.\n")
	for _, m := range measures {
		require.Contains(t, text, "-only "+m.name)
	}

	require.NotContains(t, report([]row{{met: true}}, nil), "Missed")
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	require.Len(t, all, len(measures))
	one, err := choose("storm")
	require.NoError(t, err)
	require.Equal(t, "storm", one[0].name)
	_, err = choose("strom")
	require.ErrorContains(t, err, "storm")
}
