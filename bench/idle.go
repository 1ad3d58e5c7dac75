//go:build linux || windows

package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// tick is the interval of watch. What a process does in consecutive ticks is one wake-up.
	tick = 100 * time.Millisecond
	// maxWakeUps is how many more wake-ups a minute the agent may have than the baseline.
	maxWakeUps = 6
)

// idlers are an agent and a baseline that have nothing to do.
type idlers struct {
	what        string
	agent, bare *child
}

// watch counts for a while how often programs wake up.
func (b *bench) watch(ctx context.Context, period time.Duration, all ...idlers) (rows []row) {
	agents, bare := make([][]usage, len(all)), make([][]usage, len(all))
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for end := time.Now().Add(period); ; {
		for n, i := range all {
			agents[n], bare[n] = append(agents[n], i.agent.usage()), append(bare[n], i.bare.usage())
		}
		if time.Now().After(end) {
			break
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.check(ctx.Err())
		}
	}
	for n, i := range all {
		most := float64(maxWakeUps)
		rows = append(rows, row{
			figure:   fmt.Sprintf("%s, %s: wake-ups a minute", i.what, period),
			measured: showWakeUps(agents[n], period), baseline: showWakeUps(bare[n], period) + ", " + i.bare.name,
			target: fmt.Sprintf("≤ the baseline + %g", most), met: perMinute(agents[n], period)-perMinute(bare[n], period) <= most,
		})
	}
	return rows
}

func perMinute(readings []usage, period time.Duration) float64 {
	return float64(wakeUps(readings)) / period.Minutes()
}

func showWakeUps(readings []usage, period time.Duration) string {
	switches := readings[len(readings)-1].switches - readings[0].switches
	return fmt.Sprintf("%.1f (%d wake-ups, %d context switches)", perMinute(readings, period), wakeUps(readings), switches)
}

// wakeUps counts the ticks in which a process ran, after one in which it did not.
func wakeUps(readings []usage) int {
	n, quiet := 0, true
	for i := 1; i < len(readings); i++ {
		ran := readings[i].switches != readings[i-1].switches
		if ran && quiet {
			n++
		}
		quiet = !ran
	}
	return n
}

// memoryRow compares resident memory.
func (i idlers) memoryRow(most int64) row {
	agent, bare := i.agent.usage(), i.bare.usage()
	return row{
		figure: i.what + ": resident memory", measured: agent.memory(), baseline: bare.memory() + ", " + i.bare.name,
		ratio: times(ratioOf(agent.rss, bare.rss)), target: "≤ " + mib(most), met: agent.rss <= most,
	}
}
