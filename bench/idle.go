//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

const (
	// settling is what a process gets between its first payload, or the loss of its client, and
	// the first look at it. An agent searches for up to 9 s with growing waits.
	settling = 12 * time.Second
	// tick is how often watch looks. What a process does within a few of them is one wake-up.
	tick = 100 * time.Millisecond
	// watchdog is the time that the user unit gives the agent.
	watchdog = 240 * time.Second
	// maxIdleRSS is the target for an agent that has just been started, without the features that
	// have a budget of their own.
	maxIdleRSS = 17 << 20
)

// idlers are an agent and a bare path that have nothing to do.
type idlers struct {
	what        string
	agent, bare *child
	most        float64 // wake-ups a minute of the agent
	switches    float64 // context switches a minute on a quiet machine above those of the bare path; 0: wake-ups count there, too, and in all
}

// measureIdle leaves agents alone, one on each kind of sound server and beside each a bare path,
// and counts how often they wake up: beside a program that writes temporary files as compilers do,
// with such files in the very folders of the sockets, which have to be watched, and, with a tray, on a
// quiet machine. One more agent has no client: by then it has searched for minutes.
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
	memory, err := b.idleMemory(all)
	return append(rows, memory...), err
}

// startIdlers starts an agent that is supervised at that address, and the bare path.
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

// listenAsManager is where a service manager hears from its service. It hears, and does nothing.
func (b *bench) listenAsManager() (*net.UnixConn, error) {
	address := filepath.Join(b.dir, "manager")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listen as a service manager: %w", err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return c, nil
}

// surroundings are what goes on beside idle programs.
type surroundings struct {
	idle    []idlers
	period  time.Duration
	beside  string
	folders []string // into which temporary files are written
	more    float64  // wake-ups a minute that an agent may have for that
}

func (b *bench) surroundings(all, quiet []idlers) []surroundings {
	period := pick(b, 150*time.Second, 20*time.Second)
	var sockets []string
	for _, i := range all {
		sockets = append(sockets, i.agent.folder)
	}
	return []surroundings{
		{all, period, " beside a program that writes temporary files", []string{b.dir}, 0}, // the folders of the sockets are in it
		{all, period, " with a burst of temporary files in the folder of the sockets each second", sockets, 60},
		{quiet, pick(b, 10*time.Minute, period), "", nil, 0},
	}
}

// count counts what idle programs do.
func (s surroundings) count(ctx context.Context) ([]row, error) {
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
	readings, err := watch(ctx, s.period, children)
	end()
	writers.Wait()
	if err := errors.Join(append(failed, err)...); err != nil {
		return nil, err
	}
	var rows []row
	for n, i := range s.idle {
		rows = append(rows, i.row(s, readings[2*n], readings[2*n+1]))
	}
	return rows, nil
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
		measured: show(agent), baseline: show(bare) + ", bare path, connected and idle",
		target: fmt.Sprintf("≤ %g", most), met: perMinute(agent) <= most,
	}
	if above {
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

// switches counts context switches.
func switches(readings []usage) int { return readings[len(readings)-1].switches - readings[0].switches }
