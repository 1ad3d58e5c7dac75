//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/internal/soundlab"
)

const (
	// toggleGap keeps the toggles so far apart that the agent's pacing never has to wait.
	toggleGap = 30 * time.Millisecond
	// toggleSpread keeps them from falling into step with a timer of anybody.
	toggleSpread = 10 * time.Millisecond
	warmUp       = 20 // toggles of each round that do not count
)

// measureMute presses the headset's mute button and takes the time until the client has the
// whole payload, in turns through the agent and through the bare path. Only one of the two
// runs at a time, so that neither pays for the other.
func measureMute(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, kind := range soundlab.Kinds {
		agent, bare, err := b.muteSamples(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("on %s: %w", kind, err)
		}
		for _, p := range []struct {
			percentile int
			limit      float64
		}{{50, 1.5}, {99, 2}} {
			a, z := agent.percentile(p.percentile), bare.percentile(p.percentile)
			r := ratioOf(a, z)
			rows = append(rows, row{
				figure:   fmt.Sprintf("mute on %s to payload complete at the client, p%d of %d", kind, p.percentile, len(agent)),
				measured: fmt.Sprintf("%s (max %s)", ms(a), ms(agent.max())),
				baseline: fmt.Sprintf("%s (max %s), bare path", ms(z), ms(bare.max())),
				ratio:    times(r),
				target:   fmt.Sprintf("≤ %g×", p.limit),
				met:      r <= p.limit,
				excuse:   "Between event and message lie the model and hand-overs between goroutines, and waking a thread is dear. The maxima tell how busy the machine was.",
			})
		}
	}
	return rows, nil
}

func (b *bench) muteSamples(ctx context.Context, kind soundlab.Kind) (agent, bare sample, err error) {
	l, err := b.openLab(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	rounds, toggles := 10, pick(b, 50, 10)
	for range rounds {
		for _, way := range []struct {
			start func(context.Context, *lab) (*child, error)
			into  *sample
		}{{b.startBare, &bare}, {b.startAgent, &agent}} {
			c, err := way.start(ctx, l)
			if err != nil {
				return nil, nil, err
			}
			took, err := l.toggle(ctx, c, warmUp+toggles)
			if err = errors.Join(err, c.stop()); err != nil {
				return nil, nil, err
			}
			*way.into = append(*way.into, took[warmUp:]...)
		}
	}
	return agent, bare, nil
}

// toggle presses the button n times, an even number, and returns how long each press took to
// arrive. It starts and ends unmuted.
func (l *lab) toggle(ctx context.Context, c *child, n int) (sample, error) {
	var took sample
	for i := range n {
		start := time.Now()
		if err := l.press(ctx, i%2 == 0); err != nil {
			return nil, err
		}
		p, err := c.awaitMute(ctx, i%2 == 0)
		if err != nil {
			return nil, err
		}
		took = append(took, p.Time.Sub(start))
		gap := toggleGap + rand.N(toggleSpread) - time.Since(start)
		if err := pause(ctx, gap); err != nil {
			return nil, err
		}
	}
	return took, nil
}
