//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/signal"
)

// measureStart measures the time from the start of the process until the client has the headset.
// The lab has started the agent before, so its files are in memory.
func measureStart(ctx context.Context, b *bench, labs []*lab) []row {
	l := labs[0]
	starts := func(program func(*place) command) round {
		return func(ctx context.Context) sample {
			c := l.start(ctx, program, overIPC)
			defer c.stop()
			return sample{c.first}
		}
	}
	took := inTurns(ctx, pick(b, 20, 5), starts(l.agent), starts(l.bare))
	what := "start of the process to first payload at the client, warm"
	return []row{took.row(what, slowest, "bare path", limit{inAll: 250 * time.Millisecond})}
}

// measureAppear stops a client and starts a new one in its place. It measures the time from right before
// the client's start until it has the whole list and, as the baseline, how long one connection and hello
// to the running client take.
func measureAppear(ctx context.Context, b *bench, labs []*lab) (rows []row) {
	byPort := overIPC
	byPort.transports = []fakeserver.Transport{fakeserver.WebSocket, fakeserver.HTTP}
	for _, s := range []struct {
		how   string
		setup setup
		most  time.Duration
	}{
		{"", overIPC, 100 * time.Millisecond},
		{", the agent may use its port only", byPort, 2 * time.Second},
	} {
		took := labs[0].returns(ctx, s.setup, pick(b, 20, 5))
		what := fmt.Sprintf("a client with an IPC socket appears%s: from its start to the whole list", s.how)
		rows = append(rows, took.row(what, slowest, "one bare connect and hello", limit{inAll: s.most}))
	}
	return rows
}

func (l *lab) returns(ctx context.Context, s setup, times int) (took comparison) {
	agent := l.start(ctx, l.agent, s)
	defer agent.stop()
	c := agent.clients[0]
	for range times {
		c.Stop()
		c.last.Seq = c.Stats().Payloads
		l.check(signal.Sleep(ctx, time.Second/2+rand.N(time.Second/2)))
		start := time.Now()
		l.check(c.Resume())
		l.check(agent.await(ctx, c, "the list to a new client", lists))
		took.agent = append(took.agent, c.last.Time.Sub(start))
		start = time.Now()
		w, err := wireTo(ctx, c.last.Transport, c.address(c.last.Transport))
		l.check(err)
		took.bare = append(took.bare, time.Since(start))
		l.check(w.Close())
	}
	return took
}
