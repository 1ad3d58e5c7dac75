package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"time"

	"sidetone/internal/signal"
)

const (
	// watchdog is the agent's watchdog timeout in the user unit.
	watchdog = 240 * time.Second
	// maxIdleRSS is the target for an agent that has just been started.
	maxIdleRSS = 22 << 20
)

// measureIdle counts how often idle agents wake up, one on each kind of sound server and beside each a bare path:
// while a program writes temporary files as compilers do, while such files come and go in the folders of the sockets, which
// the agent has to watch, and, with a tray, on a quiet machine. One more agent has no client: by then it has searched for minutes.
func measureIdle(ctx context.Context, b *bench, labs []*lab) (rows []row) {
	var all []idlers
	manager := b.listenAsManager()
	for _, l := range labs {
		all = append(all, startIdlers(ctx, l, manager))
	}
	clientless := labs[0].start(ctx, labs[0].agent, overIPC)
	b.cleanup(clientless.end)
	clientless.clients[0].Stop()
	tray := b.startTray(ctx, all[0].agent)
	b.check(signal.Sleep(ctx, settling))

	quiet := append(slices.Clone(all),
		idlers{what: "no client for minutes", agent: clientless, bare: all[0].bare, most: 3},
		idlers{what: "tray of an agent that is connected and idle", agent: tray.child, bare: all[0].bare, switches: 1})
	for _, s := range b.surroundings(all, quiet) {
		rows = append(rows, s.count(ctx, b)...)
	}
	rows[0].note = fmt.Sprintf("Wake-ups are counted from outside, by reading /proc every %s: one is a run of readings with context "+
		"switches in between, of which there are several, because several threads of the Go runtime take part. Context switches are those "+
		"of all threads. An agent that is connected has a service manager, whose watchdog it tells every %s that it is well.", tick, watchdog/2)
	return append(rows, idleMemory(all)...)
}

// startIdlers starts an agent that reports to a service manager at an address, and the bare path. Both end with the measurement.
func startIdlers(ctx context.Context, l *lab, manager string) idlers {
	bare := l.start(ctx, l.bare, overIPC)
	l.cleanup(bare.end)
	supervised := *l
	supervised.env = append(slices.Clone(l.env), "NOTIFY_SOCKET="+manager, fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()))
	agent := l.start(ctx, supervised.agent, overIPC)
	l.cleanup(agent.end)
	return idlers{what: "connected and idle on " + l.kind, agent: agent, bare: bare, most: 6}
}

// listenAsManager opens the socket on which a service manager hears from its service, and ignores what comes until the measurement ends.
func (b *bench) listenAsManager() (address string) {
	address = filepath.Join(b.dir, "manager")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	b.check(err)
	b.cleanup(c.Close)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return address
}

func (b *bench) surroundings(all, quiet []idlers) []surroundings {
	period := pick(b, 150*time.Second, 20*time.Second)
	var sockets []string
	for _, i := range all {
		sockets = append(sockets, i.agent.folder)
	}
	return []surroundings{
		{all, period, " beside a program that writes temporary files", []string{b.dir}, 0}, // which holds the folders of the sockets
		{all, period, " with a burst of temporary files in the folder of the sockets each second", sockets, 60},
		{quiet, pick(b, 10*time.Minute, period), "", nil, 0},
	}
}

func idleMemory(all []idlers) (rows []row) {
	for _, i := range all {
		agent, bare := i.agent.usage(), i.bare.usage()
		rows = append(rows, row{
			figure: i.what + ": resident memory", measured: agent.memory(), baseline: bare.memory() + ", bare path",
			ratio: times(ratioOf(agent.rss, bare.rss)), target: "≤ " + mib(maxIdleRSS), met: agent.rss <= maxIdleRSS,
		})
	}
	return rows
}

// settling is the time between a process's first payload, or the loss of its client, and the first
// measurement. An agent searches for up to 9 s with growing waits.
const settling = 12 * time.Second
