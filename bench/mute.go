//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"

	"sidetone/internal/testlab"
)

// measureMute presses the headset's mute button and takes the time until the client has the
// whole payload, in turns through the agent and through the bare path.
func measureMute(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, s := range []scene{overIPC, overWebSocket} {
		for _, kind := range testlab.SoundKinds {
			agent, bare, err := b.muteSamples(ctx, kind, s)
			if err != nil {
				return nil, fmt.Errorf("over %s on %s: %w", s.transports[0], kind, err)
			}
			median := 1.5
			if kind == testlab.PulseAudio {
				median = 1.35
			}
			what := fmt.Sprintf("mute over %s on %s", s.transports[0], kind)
			rows = append(rows, muteRow(what, 50, median, agent, bare), muteRow(what, 99, 2, agent, bare))
		}
	}
	return rows, nil
}

func muteRow(what string, p int, limit float64, agent, bare sample) row {
	a, z := agent.percentile(p), bare.percentile(p)
	r := ratioOf(a, z)
	return row{
		figure:   fmt.Sprintf("%s to payload complete at the client, p%d of %d", what, p, len(agent)),
		measured: fmt.Sprintf("%s (max %s)", ms(a), ms(agent.max())),
		baseline: fmt.Sprintf("%s (max %s), bare path", ms(z), ms(bare.max())),
		ratio:    times(r),
		target:   fmt.Sprintf("≤ %g×", limit),
		met:      r <= limit,
		excuse: "Between event and message lie the model and hand-overs between goroutines, and waking a thread is dear. " +
			"The maxima tell how busy the machine was.",
	}
}

func (b *bench) muteSamples(ctx context.Context, kind testlab.SoundKind, s scene) (agent, bare sample, err error) {
	l, err := b.openLab(ctx, kind)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	return sideBySide(ctx, 10, pick(b, 40, 10), l.way(b.startAgent, s), l.way(b.startBare, s))
}
