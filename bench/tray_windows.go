package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"
)

// measureIdleTray leaves a tray alone, with an agent and without one, and beside it a Go program that sleeps.
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
	if err := pause(ctx, searched); err != nil {
		return nil, err
	}
	if rows, err = b.countTray(ctx, "tray of an agent that runs, idle", tray, sleeper); err != nil {
		return nil, err
	}
	if err := errors.Join(stopAgent(), pause(ctx, settling)); err != nil {
		return nil, err
	}
	more, err := b.countTray(ctx, "tray without an agent, idle", tray, sleeper)
	return append(rows, more...), err
}

func (b *bench) countTray(ctx context.Context, what string, tray, sleeper *child) ([]row, error) {
	quiet := surroundings{period: pick(b, 2*time.Minute, 30*time.Second), idle: []idlers{
		{what: what, agent: tray, bare: sleeper, against: "a Go program that sleeps", switches: 1},
	}}
	return quiet.count(ctx)
}
