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
type results map[string]map[string]float64

var cpuSuffix = regexp.MustCompile(`-\d+$`)

// goTest runs a command of Go benchmarks and reads its results.
func goTest(ctx context.Context, command []string) (results, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 5 * time.Second
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w:\n%s%s", strings.Join(command, " "), err, out.String(), talk.String())
	}
	return parseBenchmarks(out.String())
}

// parseBenchmarks reads lines such as "BenchmarkX/a-2  10  5 ns/op  7 B/op".
func parseBenchmarks(text string) (results, error) {
	r := make(results)
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
		r[cpuSuffix.ReplaceAllString(f[0], "")] = metrics
	}
	return r, nil
}

// get returns a metric, or an error that names what is missing.
func (r results) get(name, unit string) (float64, error) {
	v, ok := r[name][unit]
	if !ok {
		return 0, fmt.Errorf("the benchmark %s has no result in %s", name, unit)
	}
	return v, nil
}
