//go:build linux || windows

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

type sample []time.Duration

// percentile returns the smallest value that at least p percent do not exceed; 0 of none.
func (s sample) percentile(p int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

const slowest = 100 // as a percentile

var rank = map[int]string{50: "p50", 99: "p99", slowest: "slowest"}

// show shows one percentile, and beside it the others.
func (s sample) show(p int) string {
	var others []string
	for _, other := range []int{50, 99, slowest} {
		if other != p {
			others = append(others, rank[other]+" "+ms(s.percentile(other)))
		}
	}
	return fmt.Sprintf("%s (%s)", ms(s.percentile(p)), strings.Join(others, ", "))
}

// comparison is how long the agent took for something, and the baseline.
type comparison struct{ agent, bare sample }

// round is one of several rounds of a measurement.
type round func(context.Context) sample

// inTurns measures the agent and the baseline in several rounds. Only one of them
// runs at a time, so that neither slows the other.
func inTurns(ctx context.Context, rounds int, agent, bare round) (c comparison) {
	for range rounds {
		c.bare = append(c.bare, bare(ctx)...)
		c.agent = append(c.agent, agent(ctx)...)
	}
	return c
}

// row compares a percentile. most is the target for its ratio to the baseline's; 0: there is none.
func (c comparison) row(what string, p int, baseline string, most float64) row {
	ratio := ratioOf(c.agent.percentile(p), c.bare.percentile(p))
	r := row{
		figure:   fmt.Sprintf("%s, %s of %d", what, rank[p], len(c.agent)),
		measured: c.agent.show(p), baseline: c.bare.show(p) + ", " + baseline, ratio: times(ratio),
	}
	if most > 0 {
		r.target, r.met = fmt.Sprintf("≤ %g×", most), ratio <= most
	}
	return r
}

func ratioOf[T time.Duration | float64 | int | int64](a, b T) float64 { return float64(a) / float64(b) }

func times(ratio float64) string { return fmt.Sprintf("%.2f×", ratio) }

// ms shows a duration with three significant digits.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	digits := 3
	for above := 1.0; v >= above && digits > 0; above *= 10 {
		digits--
	}
	return fmt.Sprintf("%.*f ms", digits, v)
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
