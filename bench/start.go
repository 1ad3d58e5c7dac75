//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

// measureStart starts the agent and the bare path in turns and takes the time until the
// client has the headset. The lab has started the agent before, so the files are in memory.
func measureStart(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	var agent, bare sample
	for range pick(b, 20, 5) {
		for _, way := range []struct {
			start starter
			into  *sample
		}{{b.startBare, &bare}, {b.startAgent, &agent}} {
			c, err := way.start(ctx, l, overIPC)
			if err != nil {
				return nil, err
			}
			*way.into = append(*way.into, c.first)
			if err := c.stop(); err != nil {
				return nil, err
			}
		}
	}
	const limit = 250 * time.Millisecond
	return []row{{
		figure:   fmt.Sprintf("start of the process to first payload at the client, warm, slowest of %d", len(agent)),
		measured: fmt.Sprintf("%s (p50 %s)", ms(agent.max()), ms(agent.percentile(50))),
		baseline: fmt.Sprintf("%s (p50 %s), bare path", ms(bare.max()), ms(bare.percentile(50))),
		ratio:    times(ratioOf(agent.max(), bare.max())),
		target:   "≤ " + ms(limit),
		met:      agent.max() <= limit,
	}}, nil
}
