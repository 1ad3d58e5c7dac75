//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

const (
	// changeGap keeps the changes so far apart that the agent's pacing never has to wait.
	changeGap = 30 * time.Millisecond
	// changeSpread keeps them from falling into step with a timer of anybody.
	changeSpread = 10 * time.Millisecond
	warmUp       = 10 // changes of each round that do not count
)

// driven is a running program and what sets the mute that it is to report.
type driven struct {
	*child
	set   func(ctx context.Context, mute bool) error
	leave func() // before the program is stopped; nil: there is nothing to do
}

// way starts one of the two programs that are compared. It returns when the client has the
// headset.
type way func(context.Context) (*driven, error)

func (r *driven) stop() error {
	if r.leave != nil {
		r.leave()
	}
	return r.child.stop()
}

// starter is startAgent or startBare.
type starter func(context.Context, *lab, scene) (*child, error)

// way starts a program whose mute is set by the headset's button.
func (l *lab) way(start starter, s scene) way {
	return func(ctx context.Context) (*driven, error) {
		c, err := start(ctx, l, s)
		if err != nil {
			return nil, err
		}
		return &driven{child: c, set: l.press}, nil
	}
}

// sideBySide takes the time of n changes, an even number, in each of several rounds of two ways,
// in turns. Only one of the two programs runs at a time, so that neither pays for the other.
func sideBySide(ctx context.Context, rounds, n int, one, other way) (ofOne, ofOther sample, err error) {
	for range rounds {
		for _, w := range []struct {
			start way
			into  *sample
		}{{other, &ofOther}, {one, &ofOne}} {
			took, err := w.start.round(ctx, n)
			if err != nil {
				return nil, nil, err
			}
			*w.into = append(*w.into, took...)
		}
	}
	return ofOne, ofOther, nil
}

// round starts the program and returns how long each of n changes, an even number, took to
// arrive at the last of its clients.
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
func (r *driven) alternate(ctx context.Context, n int) (sample, error) {
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
		if err := pause(ctx, changeGap+rand.N(changeSpread)-time.Since(start)); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// capture stores the agent's own payloads, of a muted and of an open microphone, and stops it.
func (r *driven) capture(ctx context.Context, folder string) (err error) {
	defer func() { err = errors.Join(err, r.stop()) }()
	for _, mute := range []bool{true, false} {
		if err := r.set(ctx, mute); err != nil {
			return err
		}
		p, err := r.awaitMute(ctx, mute)
		if err != nil {
			return err
		}
		if err := os.WriteFile(payloadFile(folder, mute), p.Raw, 0o600); err != nil {
			return err
		}
	}
	return nil
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
