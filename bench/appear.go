//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"sidetone/fakeserver"
)

// absence is how clients go and come back to an agent that runs.
type absence struct {
	figure     string
	scene      scene
	agents     int                  // that all go through it at once
	times      int                  // one after the other
	searchOver bool                 // the agent has ended its search for more clients when the first one goes
	gone       func() time.Duration // how long a client stays away
	limit      time.Duration        // the target; 0: none
	note       string
	excuse     string
}

// arrivals are how long it took from right before a client started until it had the whole
// list, and, with the client running, until a program that knows where had said hello.
type arrivals struct{ agent, bare sample }

// measureAppear lets clients go, and come back as new ones.
func measureAppear(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	moment := func() time.Duration { return time.Second/2 + rand.N(time.Second/2) }
	first := absence{
		figure: "a client with an IPC socket appears", scene: overIPC, agents: 1, times: pick(b, 20, 5),
		gone: moment, limit: 100 * time.Millisecond,
	}
	byPort, portOnly := overIPC, overIPC
	byPort.transports = []fakeserver.Transport{fakeserver.WebSocket, fakeserver.HTTP}
	portOnly.options, portOnly.socket = fakeserver.Options{}, false
	rest := []absence{
		{
			figure: "a client with an IPC socket appears, the agent may use its port only", scene: byPort, agents: 1, times: pick(b, 10, 5),
			gone: moment, limit: 2 * time.Second,
		},
		{
			figure: "a client without an IPC socket is back 1 s after it went", scene: portOnly, agents: pick(b, 10, 3), times: 1,
			searchOver: true, gone: func() time.Duration { return time.Second }, limit: 2 * time.Second,
			excuse: "Nothing tells when a port is opened: it is found by the next search.",
		},
		{
			figure: "a client without an IPC socket appears after a long absence", scene: portOnly, agents: pick(b, 10, 3), times: 1,
			gone: func() time.Duration { return settling + rand.N(6*time.Second) },
			note: "After a long absence an agent searches every 5 to 6 s (`rpc.retry_max`): a client without an IPC socket has to wait for that.",
		},
	}
	got := make([]arrivals, 1+len(rest))
	errs := make([]error, len(rest))
	if got[0], err = b.returns(ctx, l, first); err != nil {
		return nil, err
	}
	var wg sync.WaitGroup // these wait most of the time
	for i, a := range rest {
		wg.Go(func() { got[i+1], errs[i] = b.returns(ctx, l, a) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, a := range append([]absence{first}, rest...) {
		rows = append(rows, a.row(got[i]))
	}
	return rows, nil
}

func (a absence) row(got arrivals) row {
	r := row{
		figure:   fmt.Sprintf("%s: from its start to the whole list, slowest of %d", a.figure, len(got.agent)),
		measured: fmt.Sprintf("%s (p50 %s)", ms(got.agent.max()), ms(got.agent.percentile(50))),
		baseline: fmt.Sprintf("%s (p50 %s), one bare connect and hello", ms(got.bare.max()), ms(got.bare.percentile(50))),
		ratio:    times(ratioOf(got.agent.max(), got.bare.max())), note: a.note, excuse: a.excuse,
	}
	if a.limit > 0 {
		r.target, r.met = "≤ "+ms(a.limit), got.agent.max() <= a.limit
	}
	return r
}

func (b *bench) returns(ctx context.Context, l *lab, a absence) (got arrivals, err error) {
	each := make([]arrivals, a.agents)
	errs := make([]error, a.agents)
	var wg sync.WaitGroup
	for i := range each {
		wg.Go(func() { each[i], errs[i] = b.returnsTo(ctx, l, a) })
	}
	wg.Wait()
	for _, e := range each {
		got.agent, got.bare = append(got.agent, e.agent...), append(got.bare, e.bare...)
	}
	return got, errors.Join(errs...)
}

// returnsTo is what one agent goes through.
func (b *bench) returnsTo(ctx context.Context, l *lab, a absence) (got arrivals, err error) {
	agent, err := b.startAgent(ctx, l, a.scene)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, agent.stop()) }()
	if a.searchOver {
		if err := pause(ctx, settling); err != nil {
			return got, err
		}
	}
	c := agent.clients[0]
	for range a.times {
		c.Stop()
		c.last.Seq = c.Stats().Payloads
		if err := pause(ctx, a.gone()); err != nil {
			return got, err
		}
		start := time.Now()
		if err := c.Resume(); err != nil {
			return got, err
		}
		if err := agent.await(ctx, c, "the list to a new client", lists); err != nil {
			return got, err
		}
		got.agent = append(got.agent, c.last.Time.Sub(start))
		took, err := hello(ctx, c)
		if err != nil {
			return got, err
		}
		got.bare = append(got.bare, took)
	}
	return got, nil
}

// hello is how long a connect takes over what the agent uses in the end, until the client has
// said READY (over HTTP: has answered a request).
func hello(ctx context.Context, c *client) (time.Duration, error) {
	over := c.last.Transport
	start := time.Now()
	w, err := wireTo(ctx, over, c.address(over))
	if err != nil {
		return 0, err
	}
	return time.Since(start), w.Close()
}
