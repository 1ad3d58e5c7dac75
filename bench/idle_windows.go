package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// maxIdleMore is how much more memory the agent may have than a Go program that sleeps.
const maxIdleMore = 8 << 20

// idleOver has how long an agent is left alone before it is watched, and how long it is watched. It still looks for further clients half a
// minute after a new list and, where nothing tells of them, after 3 min once in 5 to 6 min.
var idleOver = []struct {
	setup
	before, period time.Duration
}{
	{overWebSocket, 40 * time.Second, 2 * time.Minute},
	{overIPC, 4 * time.Minute, 6 * time.Minute},
}

// measureIdle leaves an agent alone, and beside it a Go program that sleeps.
func measureIdle(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
	sleeper := &child{place: &place{}}
	program := filepath.Join(filepath.Dir(b.self), "sleeper.exe") // as tools/windows/bench.sh makes it
	err = sleeper.start(b.dir, command{name: "Go program that sleeps", args: []string{program, b.dir}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sleeper.stop()) }()
	for _, s := range idleOver {
		more, err := labs[0].idle(ctx, s.setup, pick(b, s.before, 40*time.Second), pick(b, s.period, 30*time.Second), sleeper)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	rows[0].note = fmt.Sprintf("Context switches are those of all threads of the process that Wine makes of a program, read from "+
		"Linux every %s. Each call of Wine's server is one at least.", tick)
	rows[2].note = "Wine tells nobody of a new pipe: an agent that uses pipes looks for the ten names once in 5 to 6 min, after 3 min in which " +
		"nothing has happened, and does nothing else. On Windows it is told, and sleeps."
	rows[1].note = "Wine reads programs and libraries into each process, and has 1 MiB of its own for each thread: see docs/windows.md."
	return rows, nil
}

// idle counts what an agent does that has a client.
func (l *lab) idle(ctx context.Context, s setup, before, period time.Duration, sleeper *child) (rows []row, err error) {
	agent, err := l.start(ctx, l.agent, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	if err := pause(ctx, before); err != nil {
		return nil, err
	}
	const beside = "a Go program that sleeps"
	what := fmt.Sprintf("connected over %s and idle", s.transports[0])
	quiet := surroundings{period: period, idle: []idlers{
		{what: what, agent: agent, bare: sleeper, against: beside, switches: 2},
	}}
	if rows, err = quiet.count(ctx); err != nil {
		return nil, err
	}
	used, err := agent.usage()
	if err != nil {
		return nil, err
	}
	least, err := sleeper.usage()
	most := least.rss + maxIdleMore
	return append(rows, row{
		figure: what + ": resident memory", measured: used.memory(), baseline: least.memory() + ", " + beside,
		ratio: times(ratioOf(used.rss, least.rss)), target: "≤ " + mib(most), met: used.rss <= most,
	}), err
}
