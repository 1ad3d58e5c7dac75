//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// results are the metrics of Go benchmarks: by name without the number of CPUs, by unit.
type results struct {
	metrics map[string]map[string]float64
	missing error // the first metric that was asked for in vain
}

var cpuSuffix = regexp.MustCompile(`-\d+$`)

// goBench runs the Go benchmark of that name in a package and reads its results. more are further
// arguments.
func goBench(ctx context.Context, name, pkg string, more ...string) (*results, error) {
	args := append([]string{"test", "-run", "^$", "-bench", name, pkg}, more...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.WaitDelay = 5 * time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w:\n%s%s", strings.Join(args, " "), err, out.String(), talk.String())
	}
	return parseBenchmarks(out.String())
}

// parseBenchmarks reads lines such as "BenchmarkX/a-2  10  5 ns/op  7 B/op".
func parseBenchmarks(text string) (*results, error) {
	r := &results{metrics: make(map[string]map[string]float64)}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		metrics := make(map[string]float64)
		for i := 2; i+1 < len(f); i += 2 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, fmt.Errorf("read the benchmark line %q: %w", strings.TrimSpace(line), err)
			}
			metrics[f[i+1]] = v
		}
		r.metrics[cpuSuffix.ReplaceAllString(f[0], "")] = metrics
	}
	return r, nil
}

// get returns a metric. What is not there is kept in missing.
func (r *results) get(name, unit string) float64 {
	v, ok := r.metrics[name][unit]
	if !ok && r.missing == nil {
		r.missing = fmt.Errorf("the benchmark %s has no result in %s", name, unit)
	}
	return v
}

// duration is a metric in nanoseconds.
func (r *results) duration(name, unit string) time.Duration { return time.Duration(r.get(name, unit)) }
