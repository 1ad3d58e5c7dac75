//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/fakeserver"
)

// measureStart measures the time from the start of the process until the client has the headset.
// The lab has started the agent before, so its files are in memory.
func measureStart(ctx context.Context, b *bench, labs []*lab) ([]row, error) {
	l := labs[0]
	starts := func(program func(*place) command) func(context.Context) (sample, error) {
		return func(ctx context.Context) (sample, error) {
			c, err := l.start(ctx, program, overIPC)
			if err != nil {
				return nil, err
			}
			return sample{c.first}, c.stop()
		}
	}
	took, err := inTurns(ctx, pick(b, 20, 5), starts(l.agent), starts(l.bare))
	if err != nil {
		return nil, err
	}
	what := "start of the process to first payload at the client, warm"
	return []row{took.row(what, slowest, "bare path", limit{inAll: 250 * time.Millisecond})}, nil
}

// measureAppear stops a client and starts a new one in its place. It measures the time from right before
// the client's start until it has the whole list and, as the baseline, how long one connection and hello
// to the running client take.
func measureAppear(ctx context.Context, b *bench, labs []*lab) (rows []row, err error) {
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
		took, err := labs[0].returns(ctx, s.setup, pick(b, 20, 5))
		if err != nil {
			return nil, err
		}
		what := fmt.Sprintf("a client with an IPC socket appears%s: from its start to the whole list", s.how)
		rows = append(rows, took.row(what, slowest, "one bare connect and hello", limit{inAll: s.most}))
	}
	return rows, nil
}

func (l *lab) returns(ctx context.Context, s setup, times int) (took comparison, err error) {
	agent, err := l.start(ctx, l.agent, s)
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	c := agent.clients[0]
	for range times {
		c.Stop()
		c.last.Seq = c.Stats().Payloads
		if err := pause(ctx, time.Second/2+rand.N(time.Second/2)); err != nil {
			return took, err
		}
		start := time.Now()
		if err := c.Resume(); err != nil {
			return took, err
		}
		if err := agent.await(ctx, c, "the list to a new client", lists); err != nil {
			return took, err
		}
		took.agent = append(took.agent, c.last.Time.Sub(start))
		start = time.Now()
		w, err := wireTo(ctx, c.last.Transport, c.address(c.last.Transport))
		if err != nil {
			return took, err
		}
		took.bare = append(took.bare, time.Since(start))
		if err := w.Close(); err != nil {
			return took, err
		}
	}
	return took, nil
}
