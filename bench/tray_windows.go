package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// quietTray is after how long a tray, and an agent that has a client over WebSocket, have nothing to do any more.
const quietTray = 40 * time.Second

// measureIdleTray leaves a tray alone, with its agent and without it, and beside it a Go program that sleeps.
func measureIdleTray(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
	sleeper, err := b.startSleeper()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sleeper.stop()) }()
	agent, err := labs[0].start(ctx, labs[0].agent, overWebSocket)
	if err != nil {
		return nil, err
	}
	stopAgent := sync.OnceValue(agent.stop)
	defer func() { err = errors.Join(err, stopAgent()) }()
	tray := &child{place: &place{}}
	// What the last argument names is not there, and needs not be: it is for the agent's verbs, of which none is started.
	of := []string{trayPath, "--address=" + agent.controlSocket(), "--lang=en", "--", "--config=" + filepath.Join(b.dir, "tray.yaml")}
	if err := tray.start(b.dir, command{name: "tray", args: of}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tray.stop()) }()
	if err := pause(ctx, quietTray); err != nil {
		return nil, err
	}
	period := pick(b, 2*time.Minute, 30*time.Second)
	readings, err := watch(ctx, period, []*child{agent, tray, sleeper})
	if err != nil {
		return nil, err
	}
	both := idlers{what: "agent connected over websocket, and its tray, idle", against: "two Go programs that sleep", switches: 3}
	rows = append(rows, both.row(surroundings{period: period}, together(readings[0], readings[1]), together(readings[2], readings[2])))
	if err := errors.Join(stopAgent(), pause(ctx, quietTray)); err != nil {
		return nil, err
	}
	alone := idlers{what: "tray without an agent, idle", agent: tray, bare: sleeper, against: "a Go program that sleeps", switches: 1}
	more, err := surroundings{period: period, idle: []idlers{alone}}.count(ctx)
	return append(rows, more...), err
}

// together is what two processes have used.
func together(one, other []usage) []usage {
	sum := slices.Clone(one)
	for n, u := range other {
		sum[n].switches += u.switches
		sum[n].cpu += u.cpu
	}
	return sum
}
