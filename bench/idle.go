//go:build linux || windows

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sidetone/internal/signal"
)

// tick is the interval of watch. What a process does in consecutive ticks is one wake-up.
const tick = 100 * time.Millisecond

// idlers are an agent and a bare path that have nothing to do.
type idlers struct {
	what        string
	agent, bare *child
	against     string  // what bare is; "": a bare path that is connected and idle
	most        float64 // the limit for the agent's wake-ups a minute
	switches    float64 // the limit for context switches a minute on a quiet machine, above the bare path's; 0: most holds there, too
}

// surroundings are what else happens while programs are idle.
type surroundings struct {
	idle    []idlers
	period  time.Duration
	beside  string
	folders []string // into which temporary files are written
	more    float64  // further wake-ups a minute that this allows an agent
}

func (s surroundings) count(ctx context.Context, b *bench) []row {
	writing, end := context.WithCancel(ctx)
	defer end()
	var writers sync.WaitGroup
	failed := make([]error, len(s.folders))
	for n, dir := range s.folders {
		writers.Go(func() { failed[n] = writeFiles(writing, dir) })
	}
	var children []*child
	for _, i := range s.idle {
		children = append(children, i.agent, i.bare)
	}
	readings := b.watch(ctx, s.period, children)
	end()
	writers.Wait()
	b.check(errors.Join(failed...))
	var rows []row
	for n, i := range s.idle {
		rows = append(rows, i.row(s, readings[2*n], readings[2*n+1]))
	}
	return rows
}

func (i idlers) row(s surroundings, agent, bare []usage) row {
	unit, count, most, above := "wake-ups", wakeUps, i.most+s.more, i.switches > 0
	if s.folders == nil && above {
		unit, count, most = "context switches", switches, i.switches
	}
	perMinute := func(readings []usage) float64 { return float64(count(readings)) / s.period.Minutes() }
	show := func(readings []usage) string {
		cpu := readings[len(readings)-1].cpu - readings[0].cpu
		return fmt.Sprintf("%.1f (%d wake-ups, %d context switches, %s of CPU time)",
			perMinute(readings), wakeUps(readings), switches(readings), ms(cpu))
	}
	r := row{
		figure:   fmt.Sprintf("%s%s, %s: %s a minute", i.what, s.beside, s.period, unit),
		measured: show(agent), baseline: show(bare) + ", " + cmp.Or(i.against, "bare path, connected and idle"),
		target: fmt.Sprintf("≤ %g", most), met: perMinute(agent) <= most,
	}
	if above {
		r.target, r.met = fmt.Sprintf("≤ %s + %g", cmp.Or(i.against, "the bare path"), most), perMinute(agent)-perMinute(bare) <= most
	}
	return r
}

// writeFiles makes, writes and removes temporary files in a folder until ctx ends: a burst each second, so that
// the bursts can be told apart.
func writeFiles(ctx context.Context, dir string) error {
	for signal.Sleep(ctx, time.Second) == nil {
		for n := range 20 {
			path := filepath.Join(dir, fmt.Sprintf("temporary-%d", n))
			if err := errors.Join(os.WriteFile(path, []byte("temporary"), 0o600), os.Remove(path)); err != nil {
				return fmt.Errorf("write temporary files: %w", err)
			}
		}
	}
	return nil
}

// watch reads what processes have used at each tick of a period, without waking them.
func (b *bench) watch(ctx context.Context, period time.Duration, of []*child) [][]usage {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	all := make([][]usage, len(of))
	for end := time.Now().Add(period); ; {
		for n, c := range of {
			all[n] = append(all[n], c.usage())
		}
		if time.Now().After(end) {
			return all
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			b.check(ctx.Err())
		}
	}
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

func switches(readings []usage) int { return readings[len(readings)-1].switches - readings[0].switches }
