//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

// tick is how often watch looks. What a process does within a few of them is one wake-up.
const tick = 100 * time.Millisecond

// watch reads what processes have used, from the start to the end of a period. It does not
// wake them.
func watch(ctx context.Context, period time.Duration, of ...*child) ([][]usage, error) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	all := make([][]usage, len(of))
	for end := time.Now().Add(period); ; {
		for n, c := range of {
			u, err := c.usage()
			if err != nil {
				return nil, err
			}
			all[n] = append(all[n], u)
		}
		if time.Now().After(end) {
			return all, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// bursts counts the times at which something happened from one reading to the next, after a
// tick in which it had not.
func bursts(readings []usage, happened func(before, after usage) bool) int {
	n, quiet := 0, true
	for i := 1; i < len(readings); i++ {
		did := happened(readings[i-1], readings[i])
		if did && quiet {
			n++
		}
		quiet = !did
	}
	return n
}

// ran reports whether a process was awake.
func ran(before, after usage) bool { return after.switches != before.switches }

// searched reports whether an agent has read the system's two tables of TCP sockets, of which
// the headings alone have 150 bytes each. What a sound server tells is shorter.
func searched(before, after usage) bool { return after.read-before.read >= 2*150 }

// looked reports whether an agent has read as many files as a look for clients does, where what it reads of the events of files
// has any number of bytes.
func looked(before, after usage) bool { return after.reads-before.reads >= 8 }

func noClientRow(period time.Duration, searching, resting []usage) row {
	const limit = 3 // wake-ups a minute
	aMinute := func(n int) float64 { return float64(n) / period.Minutes() }
	awake := func(list []usage) string {
		n := bursts(list, ran)
		return fmt.Sprintf("%.1f wake-ups a minute (%d; %d context switches, %s of CPU time)",
			aMinute(n), n, spread(list), ms(list[len(list)-1].cpu-list[0].cpu))
	}
	searches, woken := bursts(searching, searched), bursts(searching, ran)
	return row{
		figure:   fmt.Sprintf("no client for minutes, then counted for %s: wake-ups a minute", period),
		measured: fmt.Sprintf("%s, %.1f searches a minute (%d)", awake(searching), aMinute(searches), searches),
		baseline: awake(resting) + ", bare path, connected and idle",
		target:   fmt.Sprintf("≤ %d wake-ups a minute", limit), met: searches > 0 && aMinute(woken) <= limit,
		note: fmt.Sprintf("Searches and wake-ups are counted from outside, by reading /proc every %s: a wake-up is a run of readings "+
			"with context switches in between, a search one in which the agent has read as much as the tables of TCP sockets. One search is "+
			"several context switches, because several threads of the Go runtime take part: so the target is for wake-ups. Those without a "+
			"search have other reasons, such as an event of the sound server.", tick),
	}
}
