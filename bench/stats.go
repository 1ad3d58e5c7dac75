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

// limit is the most that the agent may take. At most one field is set; if none is, there is no target.
type limit struct {
	ratio    float64       // of what the baseline takes
	overBare time.Duration // more than the baseline
	inAll    time.Duration
}

func (l limit) target() string {
	switch {
	case l.ratio > 0:
		return fmt.Sprintf("≤ %g×", l.ratio)
	case l.overBare > 0:
		return "≤ " + ms(l.overBare) + " over the bare path"
	case l.inAll > 0:
		return "≤ " + ms(l.inAll)
	}
	return ""
}

func (l limit) met(agent, bare time.Duration) bool {
	switch {
	case l.ratio > 0:
		return ratioOf(agent, bare) <= l.ratio
	case l.overBare > 0:
		return agent-bare <= l.overBare
	}
	return agent <= l.inAll
}

func (c comparison) row(what string, p int, baseline string, most limit) row {
	agent, bare := c.agent.percentile(p), c.bare.percentile(p)
	return row{
		figure:   fmt.Sprintf("%s, %s of %d", what, rank[p], len(c.agent)),
		measured: c.agent.show(p), baseline: c.bare.show(p) + ", " + baseline, ratio: times(ratioOf(agent, bare)),
		target: most.target(), met: most.met(agent, bare),
	}
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
