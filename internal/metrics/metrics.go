// Package metrics writes counters, gauges and histograms in the text format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). Prometheus' own client library would make the
// binary 2 MiB larger, for registries, collectors and protocol buffers that one page of text needs none of.
package metrics

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Type is the type of a metric: a Counter only rises, a Gauge may also fall.
type Type string

// The types.
const (
	Counter Type = "counter" // its name ends in _total
	Gauge   Type = "gauge"
	Buckets Type = "histogram"
)

// Family is a metric: all samples of one name.
type Family struct {
	Name    string // such as sidetone_deliveries_total; units are base units: _seconds, _bytes
	Help    string // what it means, in a sentence
	Type    Type
	Label   string // that distinguishes its samples, such as transport; "": it has one sample
	Samples []Sample
}

// Sample is one value of a Family, or one distribution of a histogram.
type Sample struct {
	Of           string // the value of the family's Label
	Value        float64
	Distribution *Distribution // of a histogram, instead of Value
}

// Distribution says how many observations of each size a Histogram had.
type Distribution struct {
	Bounds []float64 // upper bounds, in rising order
	Counts []uint64  // observations up to each bound and above the previous one; at last, those above all bounds
	Sum    float64   // of all observations
}

// Histogram sorts observations by size. It is safe for concurrent use.
type Histogram struct {
	mu  sync.Mutex
	all Distribution
}

// NewHistogram makes a histogram with the given upper bounds, which rise.
func NewHistogram(bounds []float64) *Histogram {
	return &Histogram{all: Distribution{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}}
}

// Observe adds one observation.
func (h *Histogram) Observe(value float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	bucket, _ := slices.BinarySearch(h.all.Bounds, value)
	h.all.Counts[bucket]++
	h.all.Sum += value
}

// Distribution returns all observations so far.
func (h *Histogram) Distribution() *Distribution {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Distribution{h.all.Bounds, slices.Clone(h.all.Counts), h.all.Sum}
}

// Write writes families in the order in which they are given. Errors are those of w.
func Write(w io.Writer, families []Family) error {
	var out bytes.Buffer
	for _, f := range families {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", f.Name, helpText.Replace(f.Help), f.Name, f.Type)
		for _, s := range f.Samples {
			var labels []string
			if f.Label != "" {
				labels = []string{label(f.Label, s.Of)}
			}
			if s.Distribution != nil {
				writeDistribution(&out, f.Name, labels, s.Distribution)
			} else {
				writeValue(&out, f.Name, labels, s.Value)
			}
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func writeDistribution(out *bytes.Buffer, name string, labels []string, d *Distribution) {
	bounds := slices.Concat(d.Bounds, []float64{math.Inf(1)})
	total := uint64(0)
	for i, n := range d.Counts {
		total += n
		writeValue(out, name+"_bucket", slices.Concat(labels, []string{label("le", number(bounds[i]))}), float64(total))
	}
	writeValue(out, name+"_sum", labels, d.Sum)
	writeValue(out, name+"_count", labels, float64(total))
}

func writeValue(out *bytes.Buffer, name string, labels []string, value float64) {
	if len(labels) > 0 {
		name += "{" + strings.Join(labels, ",") + "}"
	}
	fmt.Fprintf(out, "%s %s\n", name, number(value))
}

var (
	helpText  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelText = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func label(name, value string) string { return name + `="` + labelText.Replace(value) + `"` }

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
