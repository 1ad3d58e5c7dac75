//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"sidetone/internal/testlab"
)

const (
	// toggleGap keeps the toggles so far apart that the agent's pacing never has to wait.
	toggleGap = 30 * time.Millisecond
	// toggleSpread keeps them from falling into step with a timer of anybody.
	toggleSpread = 10 * time.Millisecond
	warmUp       = 10 // toggles of each round that do not count
	rounds       = 10 // of each of the two that are compared, in turns
)

// starter is startAgent or startBare.
type starter func(context.Context, *lab, scene) (*child, error)

// measureMute presses the headset's mute button and takes the time until the client has the
// whole payload, in turns through the agent and through the bare path. Only one of the two
// runs at a time, so that neither pays for the other.
func measureMute(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, s := range []scene{overIPC, overWebSocket} {
		for _, kind := range testlab.SoundKinds {
			agent, bare, err := b.muteSamples(ctx, kind, s)
			if err != nil {
				return nil, fmt.Errorf("over %s on %s: %w", s.transports[0], kind, err)
			}
			rows = append(rows, muteRows(fmt.Sprintf("mute over %s on %s", s.transports[0], kind), agent, bare)...)
		}
	}
	return rows, nil
}

func muteRows(what string, agent, bare sample) []row {
	var rows []row
	for _, p := range []struct {
		percentile int
		limit      float64
	}{{50, 1.5}, {99, 2}} {
		a, z := agent.percentile(p.percentile), bare.percentile(p.percentile)
		r := ratioOf(a, z)
		rows = append(rows, row{
			figure:   fmt.Sprintf("%s to payload complete at the client, p%d of %d", what, p.percentile, len(agent)),
			measured: fmt.Sprintf("%s (max %s)", ms(a), ms(agent.max())),
			baseline: fmt.Sprintf("%s (max %s), bare path", ms(z), ms(bare.max())),
			ratio:    times(r),
			target:   fmt.Sprintf("≤ %g×", p.limit),
			met:      r <= p.limit,
			excuse:   "Between event and message lie the model and hand-overs between goroutines, and waking a thread is dear. The maxima tell how busy the machine was.",
		})
	}
	return rows
}

func (b *bench) muteSamples(ctx context.Context, kind testlab.SoundKind, s scene) (agent, bare sample, err error) {
	l, err := b.openLab(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for range rounds {
		for _, way := range []struct {
			start starter
			into  *sample
		}{{b.startBare, &bare}, {b.startAgent, &agent}} {
			took, err := l.round(ctx, way.start, s, pick(b, 40, 10))
			if err != nil {
				return nil, nil, err
			}
			*way.into = append(*way.into, took...)
		}
	}
	return agent, bare, nil
}

// round starts a program and returns how long each of n toggles, an even number, took to
// arrive at the last of its clients.
func (l *lab) round(ctx context.Context, start starter, s scene, n int) (sample, error) {
	c, err := start(ctx, l, s)
	if err != nil {
		return nil, err
	}
	took, err := l.toggle(ctx, c, warmUp+n)
	if err = errors.Join(err, c.stop()); err != nil {
		return nil, err
	}
	return took[warmUp:], nil
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
