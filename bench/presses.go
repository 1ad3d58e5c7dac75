//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// turns is how often each of two ways is measured.
const turns = 5

// rig is a running program and what sets the mute that it is to report.
type rig struct {
	*child
	set   func(ctx context.Context, mute bool) error
	leave func() // before the program is stopped; nil: there is nothing to do
}

// way starts one of the two programs that are compared. It returns when the client has the
// headset.
type way func(context.Context) (*rig, error)

func (r *rig) stop() error {
	if r.leave != nil {
		r.leave()
	}
	return r.child.stop()
}

// sideBySide measures both ways in turns. Only one of the two programs runs at a time, so that
// neither pays for the other.
func (b *bench) sideBySide(ctx context.Context, startBare, startAgent way) (agent, bare sample, err error) {
	for range turns {
		for _, w := range []struct {
			start way
			into  *sample
		}{{startBare, &bare}, {startAgent, &agent}} {
			took, err := w.start.round(ctx, pick(b, 40, 10))
			if err != nil {
				return nil, nil, err
			}
			*w.into = append(*w.into, took...)
		}
	}
	return agent, bare, nil
}

// round starts the program and returns how long each of n changes, an even number, took to
// arrive at its client.
func (start way) round(ctx context.Context, n int) (sample, error) {
	r, err := start(ctx)
	if err != nil {
		return nil, err
	}
	took, err := r.alternate(ctx, warmUp+n)
	if err = errors.Join(err, r.stop()); err != nil {
		return nil, err
	}
	return took[warmUp:], nil
}

// alternate sets the mute n times, an even number, and returns how long each change took to
// arrive. It ends unmuted.
func (r *rig) alternate(ctx context.Context, n int) (sample, error) {
	var took sample
	for i := range n {
		mute := i%2 == 0
		start := time.Now()
		if err := r.set(ctx, mute); err != nil {
			return nil, fmt.Errorf("set the mute %t for the %s: %w", mute, r.name, err)
		}
		p, err := r.awaitMute(ctx, mute)
		if err != nil {
			return nil, err
		}
		took = append(took, p.Time.Sub(start))
		if err := pause(ctx, toggleGap+rand.N(toggleSpread)-time.Since(start)); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// overBare is the row of one percentile, whose target is what the agent may take longer than
// the bare path.
func overBare(what string, p int, agent, bare sample, limit time.Duration) row {
	a, z := agent.percentile(p), bare.percentile(p)
	return row{
		figure:   fmt.Sprintf("%s to payload complete at the client, p%d of %d", what, p, len(agent)),
		measured: fmt.Sprintf("%s, %s (max %s)", ms(a), more(a-z), ms(agent.max())),
		baseline: fmt.Sprintf("%s (max %s), bare path", ms(z), ms(bare.max())),
		ratio:    times(ratioOf(a, z)),
		target:   "≤ " + ms(limit) + " over the bare path", met: a-z <= limit,
		excuse: "The maxima tell how busy the machine was.",
	}
}

// more shows what one takes longer than the other; less than zero: it is faster.
func more(d time.Duration) string {
	if d < 0 {
		return ms(-d) + " less"
	}
	return ms(d) + " more"
}
