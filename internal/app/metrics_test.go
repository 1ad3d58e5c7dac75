package app

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"sidetone/internal/rpcclient"
)

// metricsAgent is an agent that has run, and whose clients did something.
func metricsAgent(t *testing.T) *App {
	t.Helper()
	folder := t.TempDir()
	a, err := New(Options{Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = a.Run(ctx)
	c := a.report.counters
	c.event(rpcclient.Connected, rpcclient.IPC)
	c.event(rpcclient.Reconnected, rpcclient.IPC)
	c.event(rpcclient.TokenAwaited, rpcclient.HTTP)
	a.report.delivered(rpcclient.Delivery{To: rpcclient.Address{Transport: rpcclient.IPC}, RoundTrip: 3 * time.Millisecond})
	return a
}

// TestMetricsForPrometheus has its own parser read them.
func TestMetricsForPrometheus(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, metricsAgent(t).Metrics(&text))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	all, err := parser.TextToMetricFamilies(&text)
	require.NoError(t, err)
	for name, f := range all {
		require.Regexp(t, `^(sidetone|process|go)_[a-z_]+$`, name)
		require.NotEmpty(t, f.GetHelp(), name)
		require.Equal(t, strings.HasSuffix(name, "_total"), f.GetType().String() == "COUNTER", name)
		require.NotEmpty(t, f.Metric, name)
	}
	over := func(name, transport string) float64 {
		for _, m := range all[name].Metric {
			if m.Label[0].GetValue() == transport {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		return -1
	}
	require.EqualValues(t, 2, over("sidetone_connections_total", "ipc"))
	require.EqualValues(t, 1, over("sidetone_reconnects_total", "ipc"))
	require.EqualValues(t, 0, over("sidetone_reconnects_total", "websocket"))
	require.EqualValues(t, 1, over("sidetone_token_waits_total", "http"))
	require.EqualValues(t, 1, over("sidetone_answer_duration_seconds", "ipc"))
	require.EqualValues(t, 1, all["sidetone_deliveries_total"].Metric[0].Counter.GetValue())
	require.Positive(t, all["go_goroutines"].Metric[0].Gauge.GetValue())
	started := all["process_start_time_seconds"].Metric[0].Gauge.GetValue()
	require.InDelta(t, time.Now().Unix(), started, 60)
}

// TestMetricsAreDocumented: docs/metrics.md has a row for each, in the same order.
func TestMetricsAreDocumented(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what a process uses is told on Linux only")
	}
	page, err := os.ReadFile("../../docs/metrics.md")
	require.NoError(t, err)
	var want []string
	for _, f := range metricsAgent(t).families() {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s |", f.Name, f.Type, cmp.Or(f.Label, "–"), f.Help))
	}
	require.Equal(t, want, regexp.MustCompile("(?m)^\\| `.*$").FindAllString(string(page), -1))
}
