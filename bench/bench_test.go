//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	require.Equal(t, time.Duration(100), hundred.percentile(slowest))
}

func TestReport(t *testing.T) {
	text := report([]row{
		{figure: "speed", measured: "1 ms", baseline: "2 ms", ratio: "0.50×", target: "≤ 1×", met: true, note: "A note."},
		{figure: "size", measured: "13 MiB", target: "≤ 12 MiB", note: "A note."},
		{figure: "wait", measured: "5 s"},
	}, []string{"CPU: fast"})
	require.Contains(t, text, "- CPU: fast\n")
	require.Contains(t, text, "| wait | 5 s | – | – | – | – |\n")
	require.NotContains(t, text, "- wait", "without a target nothing is missed")
	require.Contains(t, text, "| speed | 1 ms | 2 ms | 0.50× | ≤ 1× | yes |\n")
	require.Contains(t, text, "| size | 13 MiB | – | – | ≤ 12 MiB | **no** |\n")
	require.Equal(t, 1, strings.Count(text, "A note."))
	require.Contains(t, text, "## Missed targets\n\n- size: 13 MiB, target ≤ 12 MiB.\n")
	for _, m := range measurements {
		require.Contains(t, text, "-only "+m.name)
	}

	require.NotContains(t, report([]row{{met: true}}, nil), "Missed")
}

func TestInTurns(t *testing.T) {
	var order []string
	named := func(name string, took time.Duration) round {
		return func(context.Context) sample {
			order = append(order, name)
			return sample{took, took}
		}
	}
	c := inTurns(t.Context(), 2, named("agent", 2), named("bare", 1))
	require.Equal(t, []string{"bare", "agent", "bare", "agent"}, order)
	require.Equal(t, comparison{agent: sample{2, 2, 2, 2}, bare: sample{1, 1, 1, 1}}, c)
}

func TestReadUsage(t *testing.T) {
	before, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, before.rss)
	time.Sleep(time.Millisecond) // a context switch at least
	after, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after.switches, before.switches)

	_, err = readUsage(1 << 30)
	require.Error(t, err)
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	require.Len(t, all, len(measurements))
	one, err := choose("idle")
	require.NoError(t, err)
	require.Equal(t, "idle", one[0].name)
	_, err = choose("idel")
	require.ErrorContains(t, err, "idle")
}

func TestWire(t *testing.T) {
	payload := []byte(`{"cmd":"SET_CERTIFIED_DEVICES","nonce":"1","args":{"devices":[]}}`)
	long := slices.Insert(slices.Clone(payload), 1, bytes.Repeat([]byte(" "), 1000)...)
	for _, s := range []setup{overIPC, overWebSocket} {
		t.Run(string(s.over()), func(t *testing.T) {
			p, err := s.open(t.TempDir())
			require.NoError(t, err)
			defer p.close()
			w, err := wireTo(t.Context(), s.over(), p.address(s.over()))
			require.NoError(t, err)
			defer w.Close()
			for seq, payload := range [][]byte{payload, long, payload} {
				require.NoError(t, w.send(w.frame(payload)))
				got, err := p.client.WaitPayload(t.Context(), seq)
				require.NoError(t, err)
				require.NoError(t, got.Err)
				require.Empty(t, got.Warnings)
				require.Equal(t, s.over(), got.Transport)
				require.Equal(t, payload, got.Raw)
			}

			p.client.Stop()
			_, err = wireTo(t.Context(), s.over(), p.address(s.over()))
			require.ErrorContains(t, err, string(s.over()))
		})
	}
}

func TestSettings(t *testing.T) {
	p, err := overWebSocket.open(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{
		fmt.Sprintf("SIDETONE_RPC_PORTS=%d", p.client.Port()), "SIDETONE_RPC_IPC_FOLDERS=" + p.folder, "SIDETONE_RPC_TRANSPORTS=websocket",
		"SIDETONE_CONTROL_SOCKET=" + filepath.Join(p.folder, "agent.sock"), "XDG_RUNTIME_DIR=" + p.folder, "XDG_STATE_HOME=" + p.folder,
	}, p.settings())
	require.NoError(t, p.close())
	require.NoDirExists(t, p.folder)
	require.Equal(t, []string{"HOME=/x"}, withoutSettings([]string{"SIDETONE_LOG_LEVEL=debug", "HOME=/x", "SIDETONE_RPC_PORTS=1"}))
}

func TestComparison(t *testing.T) {
	c := comparison{agent: sample{3 * time.Millisecond}, bare: sample{time.Millisecond}}
	got := c.row("x", 50, "bare", 3)
	require.Equal(t, row{
		figure: "x, p50 of 1", measured: "3.00 ms (p99 3.00 ms, slowest 3.00 ms)",
		baseline: "1.00 ms (p99 1.00 ms, slowest 1.00 ms), bare",
		ratio:    "3.00×", target: "≤ 3×", met: true,
	}, got)
	require.False(t, c.row("x", 50, "bare", 2.5).met)
	require.Equal(t, "no target", c.row("x", 50, "bare", 0).verdict())
}

func TestAFailureEndsTheMeasurement(t *testing.T) {
	var b bench
	var order []string
	_, err := b.measureOne(t.Context(), measurement{measure: func(ctx context.Context, b *bench) []row {
		b.cleanup(func() error { order = append(order, "lab"); return os.ErrExist })
		b.cleanup(func() error { order = append(order, "child"); return nil })
		defer func() { order = append(order, "deferred") }()
		b.check(nil)
		inTurns(ctx, 2, func(context.Context) sample { order = append(order, "agent"); return nil }, func(context.Context) sample {
			b.check(os.ErrClosed)
			return nil
		})
		return nil
	}})
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, err, os.ErrExist, "what fails at the end counts, too")
	require.Equal(t, []string{"deferred", "child", "lab"}, order)
}

func TestTheBarePathChecksItsArguments(t *testing.T) {
	require.ErrorContains(t, runBare(t.Context(), nil), "needs what to follow")
}
