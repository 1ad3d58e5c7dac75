//go:build linux || windows

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/internal/signal"
)

const (
	// changeGap is long enough that the agent's pacing never delays a change.
	changeGap = 30 * time.Millisecond
	// changeSpread keeps the changes out of step with anybody's timer.
	changeSpread = 10 * time.Millisecond
	warmUp       = 10 // changes of each round that do not count
)

// measureMute presses the headset's mute button and measures the time until the client has the whole payload, through the agent and
// through the bare path.
func measureMute(labs ...openLab) func(context.Context, *bench) []row {
	return func(ctx context.Context, b *bench) (rows []row) {
		for _, open := range labs {
			l := open(ctx, b)
			for _, s := range []setup{overIPC, overWebSocket} {
				took := inTurns(ctx, 10, l.changes(l.agent, s), l.changes(l.bare, s))
				what := fmt.Sprintf("mute on %s over %s to payload complete at the client", l.kind, s.over())
				rows = append(rows, took.row(what, 50, "bare path", l.ratio), took.row(what, 99, "bare path", 2))
			}
		}
		return rows
	}
}

// changes is a round in which a program is started and the button pressed. It returns how long each press took.
func (l *lab) changes(program func(*place) command, s setup) round {
	return func(ctx context.Context) sample {
		c := l.start(ctx, program, s)
		defer c.stop()
		return c.alternate(ctx, pick(l.bench, 40, 10), l.press)
	}
}

// alternate sets the mute n times, an even number, after some changes that warm up, and returns how
// long each took to arrive at the client. It ends unmuted.
func (c *child) alternate(ctx context.Context, n int, set func(ctx context.Context, mute bool) error) sample {
	var took sample
	for i := range warmUp + n {
		mute := i%2 == 0
		start := time.Now()
		if err := set(ctx, mute); err != nil {
			c.check(fmt.Errorf("set the mute %t for the %s: %w", mute, c.name, err))
		}
		took = append(took, c.awaitMute(ctx, mute).Time.Sub(start))
		c.check(signal.Sleep(ctx, changeGap+rand.N(changeSpread)-time.Since(start)))
	}
	return took[warmUp:]
}
