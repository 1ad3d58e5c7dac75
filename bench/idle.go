//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sidetone/internal/testlab"
)

const (
	// settling is what a process gets between its first payload, or the loss of its client, and
	// the first look at it. An agent searches for up to 9 s with growing waits.
	settling = 12 * time.Second
	// idlePeriods is how many periods are counted; their median is the figure.
	idlePeriods = 5
)

// idlePair is an agent and a bare path that are connected and have nothing to do.
type idlePair struct {
	*lab
	agent, bare *child
}

// measureIdle leaves agents alone, one on each kind of sound server and beside each a bare path,
// and counts what they do: beside programs that write temporary files, and on a quiet machine.
// One more agent has no client: by the time of the last periods it has searched for minutes.
func measureIdle(ctx context.Context, b *bench) (rows []row, err error) {
	var idlers []*idlePair
	defer func() {
		for _, i := range idlers {
			err = errors.Join(err, i.close())
		}
	}()
	for _, kind := range testlab.SoundKinds {
		i, err := b.newIdlePair(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", kind, err)
		}
		idlers = append(idlers, i)
	}
	clientless, err := b.startAgent(ctx, idlers[0].lab, overIPC)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, clientless.stop()) }()
	clientless.clients[0].Stop()
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}

	period := pick(b, 30*time.Second, 10*time.Second)
	above := startWriter(b.dir) // the folders of the sockets are in it
	beside, err := countPeriods(ctx, period, idlers, nil)
	if err := errors.Join(err, above.stop()); err != nil {
		return nil, err
	}
	within, err := measureWriterWithin(ctx, period, idlers)
	if err != nil {
		return nil, err
	}
	var searching, resting []usage
	quiet, err := countPeriods(ctx, period, idlers, func() error {
		of, err := watch(ctx, period, clientless, idlers[0].bare)
		if err == nil {
			searching, resting = append(searching, of[0]...), append(resting, of[1]...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	code, err := codeOf(b.agent)
	if err != nil {
		return nil, err
	}
	rss := maxIdleRSS + linked(code, func(f feature) int64 { return f.rss })
	for n, i := range idlers {
		rows = append(rows, i.rows(period, quiet[n], beside[n], rss)...)
	}
	return append(append(rows, within...), noClientRow(idlePeriods*period, searching, resting)), nil
}

func (b *bench) newIdlePair(ctx context.Context, kind testlab.SoundKind) (*idlePair, error) {
	l, err := b.openLab(ctx, kind)
	if err != nil {
		return nil, err
	}
	i := &idlePair{lab: l}
	if i.bare, err = b.startBare(ctx, l, overIPC); err == nil {
		i.agent, err = b.startAgent(ctx, l, overIPC)
	}
	if err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

func (i *idlePair) close() error {
	var err error
	for _, c := range []*child{i.agent, i.bare} {
		if c != nil {
			err = errors.Join(err, c.stop())
		}
	}
	return errors.Join(err, i.lab.close())
}

// pair is a reading of both processes.
type pair struct{ agent, bare usage }

func usages(idlers []*idlePair) ([]pair, error) {
	var list []pair
	for _, i := range idlers {
		agent, err1 := i.agent.usage()
		bare, err2 := i.bare.usage()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		list = append(list, pair{agent, bare})
	}
	return list, nil
}

// countPeriods reads all processes at the ends of each of several periods. For each idler it
// returns the readings, one more than there are periods. during takes the time of a period; nil
// only waits.
func countPeriods(ctx context.Context, period time.Duration, idlers []*idlePair, during func() error) ([][]pair, error) {
	if during == nil {
		during = func() error { return pause(ctx, period) }
	}
	all := make([][]pair, len(idlers))
	for n := range idlePeriods + 1 {
		if n > 0 {
			if err := during(); err != nil {
				return nil, err
			}
		}
		now, err := usages(idlers)
		if err != nil {
			return nil, err
		}
		for n, p := range now {
			all[n] = append(all[n], p)
		}
	}
	return all, nil
}

// perMinute is the median over the periods of what happened in one, for a minute.
func perMinute(period time.Duration, readings []pair, count func(before, after pair) int) float64 {
	var counts []int
	for n := 1; n < len(readings); n++ {
		counts = append(counts, count(readings[n-1], readings[n]))
	}
	slices.Sort(counts)
	return float64(counts[len(counts)/2]) * float64(time.Minute) / float64(period)
}

func agentSwitches(before, after pair) int { return after.agent.switches - before.agent.switches }
func bareSwitches(before, after pair) int  { return after.bare.switches - before.bare.switches }
func moreSwitches(before, after pair) int {
	return agentSwitches(before, after) - bareSwitches(before, after)
}

func (i *idlePair) rows(period time.Duration, quiet, beside []pair, rss int64) []row {
	what := fmt.Sprintf("connected and idle on %s", i.server.Kind())
	last := quiet[len(quiet)-1]
	return []row{
		switchesRow(what, period, quiet),
		switchesRow(what+" beside a program that writes temporary files", period, beside),
		cpuRow(what, period, quiet), cpuRow(what+" beside a program that writes temporary files", period, beside),
		{
			figure: what + ": resident memory", measured: memory(last.agent), baseline: memory(last.bare) + ", bare path",
			ratio: times(ratioOf(last.agent.rss, last.bare.rss)), target: "≤ " + mib(rss), met: last.agent.rss <= rss,
		},
	}
}

func switchesRow(what string, period time.Duration, readings []pair) row {
	const more = 2 // a minute
	excess := perMinute(period, readings, moreSwitches)
	return row{
		figure:   fmt.Sprintf("%s: context switches of all threads a minute, median of %d × %s", what, idlePeriods, period),
		measured: fmt.Sprintf("%g, %+g against the bare path", perMinute(period, readings, agentSwitches), excess),
		baseline: fmt.Sprintf("%g, bare path", perMinute(period, readings, bareSwitches)),
		target:   fmt.Sprintf("≤ the bare path + %d", more), met: excess <= more,
	}
}

func cpuRow(what string, period time.Duration, readings []pair) row {
	const noTime = 5 * time.Millisecond // what two digits show as 0.00 s
	first, last := readings[0], readings[len(readings)-1]
	agent := (last.agent.cpu - first.agent.cpu) / idlePeriods
	bare := (last.bare.cpu - first.bare.cpu) / idlePeriods
	return row{
		figure: fmt.Sprintf("%s: CPU time in %s", what, period), measured: seconds(agent), baseline: seconds(bare) + ", bare path",
		target: "0.00 s", met: agent < noTime,
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s (%s)", d.Seconds(), ms(d)) }
