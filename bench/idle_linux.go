package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"time"
)

const (
	// watchdog is the agent's watchdog timeout in the user unit.
	watchdog = 240 * time.Second
	// maxIdleRSS is the target for an agent that has just been started.
	maxIdleRSS = 17<<20 + featureBudget
)

// measureIdle counts how often idle agents wake up, one on each kind of sound server and beside each a bare path:
// while a program writes temporary files as compilers do, while such files come and go in the folders of the sockets, which
// the agent has to watch, and, with a tray, on a quiet machine. One more agent has no client: by then it has searched for minutes.
func measureIdle(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
	var all []idlers
	stop := func(c interface{ stop() error }) { err = errors.Join(err, c.stop()) }
	manager, err := b.listenAsManager()
	if err != nil {
		return nil, err
	}
	defer manager.Close()
	for _, l := range labs {
		i, err := startIdlers(ctx, l, manager.LocalAddr())
		if i.bare != nil {
			defer stop(i.bare)
		}
		if i.agent != nil {
			defer stop(i.agent)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, i)
	}
	clientless, err := labs[0].start(ctx, labs[0].agent, overIPC)
	if err != nil {
		return nil, err
	}
	defer stop(clientless)
	clientless.clients[0].Stop()
	tray, err := b.startTray(ctx, all[0].agent)
	if err != nil {
		return nil, err
	}
	defer stop(tray)
	if err := pause(ctx, settling); err != nil {
		return nil, err
	}

	quiet := append(slices.Clone(all),
		idlers{what: "no client for minutes", agent: clientless, bare: all[0].bare, most: 3},
		idlers{what: "tray of an agent that is connected and idle", agent: tray.child, bare: all[0].bare, switches: 1})
	for _, s := range b.surroundings(all, quiet) {
		counted, err := s.count(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, counted...)
	}
	rows[0].note = fmt.Sprintf("Wake-ups are counted from outside, by reading /proc every %s: one is a run of readings with context "+
		"switches in between, of which there are several, because several threads of the Go runtime take part. Context switches are those "+
		"of all threads. An agent that is connected has a service manager, whose watchdog it tells every %s that it is well.", tick, watchdog/2)
	memory, err := idleMemory(all)
	return append(rows, memory...), err
}

// startIdlers starts an agent that reports to a service manager at an address, and the bare path.
func startIdlers(ctx context.Context, l *lab, manager net.Addr) (i idlers, err error) {
	i = idlers{what: "connected and idle on " + l.kind, most: 2, switches: 2.5}
	if i.bare, err = l.start(ctx, l.bare, overIPC); err != nil {
		return i, err
	}
	supervised := *l
	supervised.env = append(slices.Clone(l.env), "NOTIFY_SOCKET="+manager.String(),
		fmt.Sprintf("WATCHDOG_USEC=%d", watchdog.Microseconds()))
	i.agent, err = l.start(ctx, supervised.agent, overIPC)
	return i, err
}

// listenAsManager opens the socket on which a service manager hears from its service, and ignores what comes.
func (b *bench) listenAsManager() (*net.UnixConn, error) {
	address := filepath.Join(b.dir, "manager")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen as a service manager: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return c, nil
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

func idleMemory(all []idlers) (rows []row, err error) {
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
			ratio: times(ratioOf(agent.rss, bare.rss)), target: "≤ " + mib(maxIdleRSS), met: agent.rss <= maxIdleRSS,
		})
	}
	return rows, nil
}

// settling is the time between a process's first payload, or the loss of its client, and the first
// measurement. An agent searches for up to 9 s with growing waits.
const settling = 12 * time.Second
