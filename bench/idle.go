//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetone/internal/soundlab"
)

// settling is what a process gets between its first payload, or the loss of its client, and
// the first look at it. An agent searches for up to 9 s with growing waits.
const settling = 12 * time.Second

// idler is an agent and a bare path that are connected and have nothing to do.
type idler struct {
	*lab
	agent, bare *child
}

// measureIdle leaves agents alone, one on each kind of sound server and beside each a bare
// path, and counts what they do; and one more agent whose client has gone.
func measureIdle(ctx context.Context, b *bench) (rows []row, err error) {
	var idlers []*idler
	defer func() {
		for _, i := range idlers {
			err = errors.Join(err, i.close())
		}
	}()
	for _, kind := range soundlab.Kinds {
		i, err := b.newIdler(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", kind, err)
		}
		idlers = append(idlers, i)
	}
	lonely, err := b.startAgent(ctx, idlers[0].lab, overIPC)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lonely.stop()) }()
	lonely.clients[0].Stop()
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}
	period := pick(b, 60*time.Second, 20*time.Second)
	before, err := usages(idlers)
	if err != nil {
		return nil, err
	}
	searching, resting, err := watch(ctx, period, lonely, idlers[0].bare)
	if err != nil {
		return nil, err
	}
	after, err := usages(idlers)
	if err != nil {
		return nil, err
	}
	for n, i := range idlers {
		rows = append(rows, i.rows(period, before[n], after[n])...)
	}
	return append(rows, lonelyRow(period, searching, resting)), nil
}

func (b *bench) newIdler(ctx context.Context, kind soundlab.Kind) (*idler, error) {
	l, err := b.openLab(ctx, kind)
	if err != nil {
		return nil, err
	}
	i := &idler{lab: l}
	if i.bare, err = b.startBare(ctx, l, overIPC); err == nil {
		i.agent, err = b.startAgent(ctx, l, overIPC)
	}
	if err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

func (i *idler) close() error {
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

func usages(idlers []*idler) ([]pair, error) {
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

func (i *idler) rows(period time.Duration, before, after pair) []row {
	const (
		perSwitch = 10 * time.Second
		noTime    = 5 * time.Millisecond // what two digits show as 0.00 s
	)
	what := fmt.Sprintf("connected and idle for %s on %s: ", period, i.server.Kind())
	agent, bare := after.agent.switches-before.agent.switches, after.bare.switches-before.bare.switches
	agentCPU, bareCPU := after.agent.cpu-before.agent.cpu, after.bare.cpu-before.bare.cpu
	return []row{
		{
			figure: what + "context switches of all threads", measured: fmt.Sprint(agent), baseline: fmt.Sprintf("%d, bare path", bare),
			target: fmt.Sprintf("≤ %d (1 in %s)", period/perSwitch, perSwitch), met: agent <= int(period/perSwitch),
			excuse: "The folders above that of the IPC sockets are watched too: whatever is written into the folder for temporary files wakes the agent.",
		},
		{
			figure: what + "CPU time", measured: seconds(agentCPU), baseline: seconds(bareCPU) + ", bare path",
			target: "0.00 s", met: agentCPU < noTime,
		},
		{
			figure: what + "resident memory", measured: memory(after.agent), baseline: memory(after.bare) + ", bare path",
			ratio: times(ratioOf(after.agent.rss, after.bare.rss)), target: "≤ " + mib(maxRSS), met: after.agent.rss <= maxRSS,
		},
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s (%s)", d.Seconds(), ms(d)) }
