package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sidetone/internal/signal"
)

// maxIdleMore is how much more memory the agent may use than a Go program that sleeps.
const maxIdleMore = 8 << 20

// idleOver is how long an agent is left alone before it is watched, and how long it is watched. It looks for further clients half
// a minute after a new list and, where it is not notified of them, after 3 min once in 5 to 6 min.
var idleOver = []struct {
	setup
	before, period time.Duration
}{
	{overWebSocket, 40 * time.Second, 2 * time.Minute},
	{overIPC, 4 * time.Minute, 6 * time.Minute},
}

// measureIdle leaves an agent alone, and beside it a Go program that sleeps.
func measureIdle(ctx context.Context, b *bench, labs []*lab) (rows []row) {
	sleeper := b.startSleeper()
	defer sleeper.stop()
	for _, s := range idleOver {
		before, period := pick(b, s.before, 40*time.Second), pick(b, s.period, 30*time.Second)
		rows = append(rows, labs[0].idle(ctx, s.setup, before, period, sleeper)...)
	}
	rows[0].note = fmt.Sprintf("Context switches are those of all threads of the process that Wine makes of a program, read from "+
		"Linux every %s. Each call of Wine's server is one at least.", tick)
	rows[1].note = "Resident are also pages of programs and libraries, which Linux can drop and other processes share. What is a process's " +
		"own is, above all, 1 MiB that Wine touches for each thread, in every program: see docs/windows.md."
	rows[3].note = "Wine tells nobody of a new pipe: an agent that uses pipes looks for the ten names once in 5 to 6 min, " +
		"after 3 min in which nothing has happened, and does nothing else. On Windows it is told, and sleeps."
	return rows
}

func (b *bench) startSleeper() *child {
	program := filepath.Join(filepath.Dir(b.self), "sleeper.exe") // as tools/windows/bench.sh makes it
	return b.startAlone(&place{}, command{name: "Go program that sleeps", args: []string{program, b.dir}})
}

func (l *lab) idle(ctx context.Context, s setup, before, period time.Duration, sleeper *child) []row {
	agent := l.start(ctx, l.agent, s)
	defer agent.stop()
	l.check(signal.Sleep(ctx, before))
	what := fmt.Sprintf("connected over %s and idle", s.transports[0])
	quiet := surroundings{period: period, idle: []idlers{
		{what: what, agent: agent, bare: sleeper, against: "a Go program that sleeps", switches: 2},
	}}
	rows := quiet.count(ctx, l.bench)
	used, least := agent.usage(), sleeper.usage()
	resident := memoryRow(what+": resident memory", used.memory(), least.memory(), used.rss, least.rss)
	own := memoryRow(what+": memory of its own", mib(used.own()), mib(least.own()), used.own(), least.own())
	return append(rows, resident, own)
}

func memoryRow(figure, used, least string, bytes, leastBytes int64) row {
	most := leastBytes + maxIdleMore
	return row{
		figure: figure, measured: used, baseline: least + ", a Go program that sleeps",
		ratio: times(ratioOf(bytes, leastBytes)), target: "≤ " + mib(most), met: bytes <= most,
	}
}

// own is memory that no other process may share.
func (u usage) own() int64 { return u.rss - u.files }
