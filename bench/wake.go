//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// tick is how often watch looks. What a process does within a few of them is one wake-up.
const tick = 100 * time.Millisecond

// watch reads what two processes have used, from the start to the end of a period. It does not
// wake them.
func watch(ctx context.Context, period time.Duration, a, b *child) (ofA, ofB []usage, err error) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for end := time.Now().Add(period); ; {
		ua, err1 := a.usage()
		ub, err2 := b.usage()
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		ofA, ofB = append(ofA, ua), append(ofB, ub)
		if time.Now().After(end) {
			return ofA, ofB, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
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

func lonelyRow(period time.Duration, searching, resting []usage) row {
	const limit = 0.2
	perSecond := func(n int) float64 { return float64(n) / period.Seconds() }
	awake := func(list []usage) string {
		n, first, last := bursts(list, ran), list[0], list[len(list)-1]
		return fmt.Sprintf("%.2f wake-ups per second (%d; %d context switches, %s of CPU time)", perSecond(n), n, last.switches-first.switches, ms(last.cpu-first.cpu))
	}
	searches := bursts(searching, searched)
	return row{
		figure:   fmt.Sprintf("no client for %s, waits at their longest: searches per second", period),
		measured: fmt.Sprintf("%.2f (%d), %s", perSecond(searches), searches, awake(searching)),
		baseline: awake(resting) + ", bare path, connected and idle",
		target:   fmt.Sprintf("≤ %g searches per second", limit), met: searches > 0 && perSecond(searches) <= limit,
		note: fmt.Sprintf("Searches and wake-ups are counted from outside, by reading /proc every %s: a wake-up is a run of readings with context switches in between, "+
			"a search one in which the agent has read as much as the tables of TCP sockets. One search is several context switches, because several threads "+
			"of the Go runtime take part: so the target is for searches. Wake-ups without a search have other reasons, such as an event of the sound server.", tick),
	}
}
