package metrics

import (
	"bytes"
	"math"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// parse reads what Write writes as Prometheus does.
func parse(t *testing.T, families ...Family) map[string]*dto.MetricFamily {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, Write(&text, families))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	found, err := parser.TextToMetricFamilies(strings.NewReader(text.String()))
	require.NoError(t, err, text.String())
	return found
}

func TestValues(t *testing.T) {
	const odd = "a \"quoted\"\nand \\broken name"
	found := parse(t,
		Family{Name: "pushes_total", Help: odd, Type: Counter, Samples: []Sample{{Value: 12}}},
		Family{Name: "size_bytes", Help: "It.", Type: Gauge, Label: "of", Samples: []Sample{
			{Of: odd, Value: 1 << 40}, {Of: "none", Value: math.NaN()}, {Of: "up", Value: math.Inf(1)}, {Of: "down", Value: math.Inf(-1)},
		}},
		Family{Name: "empty_total", Help: "None yet.", Type: Counter, Label: "of"},
	)
	pushes := found["pushes_total"]
	require.Equal(t, dto.MetricType_COUNTER, pushes.GetType())
	require.Equal(t, odd, pushes.GetHelp())
	require.EqualValues(t, 12, pushes.Metric[0].Counter.GetValue())
	size := found["size_bytes"]
	require.Equal(t, dto.MetricType_GAUGE, size.GetType())
	require.Equal(t, "of", size.Metric[0].Label[0].GetName())
	require.Equal(t, odd, size.Metric[0].Label[0].GetValue())
	require.EqualValues(t, 1<<40, size.Metric[0].Gauge.GetValue())
	require.True(t, math.IsNaN(size.Metric[1].Gauge.GetValue()))
	require.True(t, math.IsInf(size.Metric[2].Gauge.GetValue(), 1))
	require.True(t, math.IsInf(size.Metric[3].Gauge.GetValue(), -1))
}

func TestHistogram(t *testing.T) {
	h := NewHistogram([]float64{0.1, 1})
	for _, v := range []float64{0.05, 0.1, 0.5, 20} {
		h.Observe(v)
	}
	family := Family{Name: "wait_seconds", Help: "It.", Type: Buckets, Label: "over", Samples: []Sample{{Of: "ipc", Distribution: h.Distribution()}}}
	h.Observe(1) // too late to count
	found := parse(t, family)["wait_seconds"]
	require.Equal(t, dto.MetricType_HISTOGRAM, found.GetType())
	got := found.Metric[0].Histogram
	require.EqualValues(t, 4, got.GetSampleCount())
	require.InDelta(t, 20.65, got.GetSampleSum(), 1e-9)
	cumulative := map[float64]uint64{}
	for _, b := range got.Bucket {
		cumulative[b.GetUpperBound()] = b.GetCumulativeCount()
	}
	require.Equal(t, map[float64]uint64{0.1: 2, 1: 3, math.Inf(1): 4}, cumulative)
	family.Label = ""
	require.Len(t, parse(t, family)["wait_seconds"].Metric, 1)
}
