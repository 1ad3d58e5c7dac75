//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// settling is what a process gets between its first payload, or the loss of its client, and
	// the first look at it. An agent searches for up to 9 s with growing waits.
	settling = 12 * time.Second
	// tick is how often watch looks. What a process does within a few of them is one wake-up.
	tick = 100 * time.Millisecond
	// maxIdleRSS is the target for an agent that has just been started, without the features that
	// have a budget of their own.
	maxIdleRSS = 17 << 20
)

// idlers are an agent and a bare path that have nothing to do.
type idlers struct {
	what        string
	agent, bare *child
	most        float64 // wake-ups a minute of the agent, in all or above those of the bare path
	aboveBare   bool
}

// measureIdle leaves agents alone, one on each kind of sound server and beside each a bare path,
// and counts how often they wake up: beside a program that writes temporary files as compilers do,
// with such files in the very folders of the sockets, which have to be watched, and on a quiet
// machine. One more agent has no client: by then it has searched for minutes.
func measureIdle(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
	var all []idlers
	stop := func(c *child) { err = errors.Join(err, c.stop()) }
	for _, l := range labs {
		i := idlers{what: "connected and idle on " + l.kind, most: 2, aboveBare: true}
		if i.bare, err = l.start(ctx, l.bare, overIPC); err != nil {
			return nil, err
		}
		defer stop(i.bare)
		if i.agent, err = l.start(ctx, l.agent, overIPC); err != nil {
			return nil, err
		}
		defer stop(i.agent)
		all = append(all, i)
	}
	clientless, err := labs[0].start(ctx, labs[0].agent, overIPC)
	if err != nil {
		return nil, err
	}
	defer stop(clientless)
	clientless.clients[0].Stop()
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}

	period := pick(b, 150*time.Second, 20*time.Second)
	var sockets []string
	for _, i := range all {
		sockets = append(sockets, i.agent.folder)
	}
	searching := idlers{what: "no client for minutes", agent: clientless, bare: all[0].bare, most: 3}
	for _, s := range []surroundings{
		{beside: " beside a program that writes temporary files", folders: []string{b.dir}}, // those of the sockets are in it
		{beside: " with a burst of temporary files in the folder of the sockets each second", folders: sockets, more: 60},
		{},
	} {
		watched := all
		if s.folders == nil {
			watched = append(watched, searching)
		}
		counted, err := countWakeUps(ctx, period, watched, s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, counted...)
	}
	rows[0].note = fmt.Sprintf("Wake-ups are counted from outside, by reading /proc every %s: one is a run of readings with context "+
		"switches in between, of which there are several, because several threads of the Go runtime take part.", tick)
	memory, err := b.idleMemory(all)
	return append(rows, memory...), err
}

// surroundings are what goes on beside idle programs.
type surroundings struct {
	beside  string
	folders []string // into which temporary files are written
	more    float64  // wake-ups a minute that an agent may have for that
}

// countWakeUps counts those of a period.
func countWakeUps(ctx context.Context, period time.Duration, all []idlers, s surroundings) ([]row, error) {
	writing, end := context.WithCancel(ctx)
	defer end()
	var writers sync.WaitGroup
	failed := make([]error, len(s.folders))
	for n, dir := range s.folders {
		writers.Go(func() { failed[n] = writeFiles(writing, dir) })
	}
	var children []*child
	for _, i := range all {
		children = append(children, i.agent, i.bare)
	}
	readings, err := watch(ctx, period, children)
	end()
	writers.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return nil, err
	}
	var rows []row
	for n, i := range all {
		rows = append(rows, i.row(period, s, readings[2*n], readings[2*n+1]))
	}
	return rows, nil
}

func (i idlers) row(period time.Duration, s surroundings, agent, bare []usage) row {
	perMinute := func(readings []usage) float64 { return float64(wakeUps(readings)) / period.Minutes() }
	show := func(readings []usage) string {
		first, last := readings[0], readings[len(readings)-1]
		switches, cpu := last.switches-first.switches, last.cpu-first.cpu
		return fmt.Sprintf("%.1f (%d context switches, %s of CPU time)", perMinute(readings), switches, ms(cpu))
	}
	most := i.most + s.more
	r := row{
		figure:   fmt.Sprintf("%s%s, %s: wake-ups a minute", i.what, s.beside, period),
		measured: show(agent), baseline: show(bare) + ", bare path, connected and idle",
		target: fmt.Sprintf("≤ %g", most), met: perMinute(agent) <= most,
	}
	if i.aboveBare {
		r.target, r.met = fmt.Sprintf("≤ the bare path + %g", most), perMinute(agent)-perMinute(bare) <= most
	}
	return r
}

func (b *bench) idleMemory(all []idlers) (rows []row, err error) {
	code, err := codeOf(agentPath)
	if err != nil {
		return nil, err
	}
	most := maxIdleRSS + linked(code, func(f feature) int64 { return f.rss })
	for _, i := range all {
		agent, err := i.agent.usage()
		if err != nil {
			return nil, err
		}
		bare, err := i.bare.usage()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			figure: i.what + ": resident memory", measured: agent.memory(), baseline: bare.memory() + ", bare path",
			ratio: times(ratioOf(agent.rss, bare.rss)), target: "≤ " + mib(most), met: agent.rss <= most,
		})
	}
	return rows, nil
}

// writeFiles makes, writes and removes temporary files in a folder, many at once in each second
// until ctx ends: so the bursts can be told apart.
func writeFiles(ctx context.Context, dir string) error {
	for pause(ctx, time.Second) == nil {
		for n := range 20 {
			path := filepath.Join(dir, fmt.Sprintf("temporary-%d", n))
			if err := errors.Join(os.WriteFile(path, []byte("temporary"), 0o600), os.Remove(path)); err != nil {
				return fmt.Errorf("write temporary files: %w", err)
			}
		}
	}
	return nil
}

// watch reads what processes have used, from the start to the end of a period. It does not
// wake them.
func watch(ctx context.Context, period time.Duration, of []*child) ([][]usage, error) {
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

// wakeUps counts the times at which a process ran from one reading to the next, after a tick in
// which it had not.
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
