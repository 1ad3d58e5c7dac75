package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sidetone/internal/signal"
)

// quietTray is the time after which a tray, and an agent with a client over WebSocket, have nothing more to do.
const quietTray = 40 * time.Second

// quietHost is the time after which a host has first asked whether its agent is alive. It asks again four hours later.
const quietHost = 150 * time.Second

// measureIdleTray leaves a tray alone, with its agent and without it, and beside it a Go program that sleeps.
func measureIdleTray(ctx context.Context, b *bench, labs []*lab) []row {
	sleeper := b.startSleeper()
	defer sleeper.stop()
	host, agent, stopBoth := labs[0].startHosted(ctx, overWebSocket)
	stopAgent := sync.OnceFunc(func() { b.fail(stopBoth()) })
	defer stopAgent()
	// The file in the last argument need not exist: it is for the agent's verbs, and none is started.
	program := []string{trayPath, "--address=" + agent.controlSocket(), "--lang=en", "--", "--config=" + filepath.Join(b.dir, "tray.yaml")}
	tray := b.startAlone(&place{}, command{name: "tray", args: program})
	defer tray.stop()
	b.check(signal.Sleep(ctx, pick(b, quietHost, quietTray)))
	period := pick(b, 2*time.Minute, 30*time.Second)
	readings := b.watch(ctx, period, []*child{agent, tray, host, sleeper})
	of, bare, over := together(readings[0], readings[1]), readings[3], surroundings{period: period}
	both := idlers{what: "agent connected over websocket, and its tray, idle", against: "two Go programs that sleep", switches: 3}
	all := idlers{what: "the same, and what started the agent at log-in", against: "three Go programs that sleep", switches: 3}
	rows := []row{both.row(over, of, together(bare, bare)), all.row(over, together(of, readings[2]), together(bare, bare, bare))}
	rows[1].note = "What has started the agent asks it once in four hours whether it is alive, and has just done so: see docs/windows.md."
	stopAgent()
	b.check(signal.Sleep(ctx, quietTray))
	alone := idlers{what: "tray without an agent, idle", agent: tray, bare: sleeper, against: "a Go program that sleeps", switches: 1}
	return append(rows, surroundings{period: period, idle: []idlers{alone}}.count(ctx, b)...)
}

// startHosted starts an agent as Windows does at log-in, by a program that keeps it running. stop ends both.
func (l *lab) startHosted(ctx context.Context, s setup) (host, agent *child, stop func() error) {
	host = l.start(ctx, func(p *place) command {
		hosted := l.agent(p)
		hosted.args = append([]string{trayPath, "host"}, hosted.args[1:]...)
		return hosted
	}, s)
	program := l.agent(host.place)
	agent = &child{bench: l.bench, name: program.name, place: host.place, cmd: &exec.Cmd{Args: program.args}}
	return host, agent, func() error {
		killed := host.end() // and not the agent with it
		cmd := exec.Command(agentPath, "stop")
		cmd.Env = program.env
		return errors.Join(killed, cmd.Run())
	}
}

// together adds up what several processes have used.
func together(one []usage, others ...[]usage) []usage {
	sum := slices.Clone(one)
	for _, other := range others {
		for n, u := range other {
			sum[n].switches += u.switches
			sum[n].cpu += u.cpu
		}
	}
	return sum
}
