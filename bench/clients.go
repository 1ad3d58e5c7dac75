//go:build linux

package main

import (
	"context"
	"fmt"
)

// measureClients presses the mute button with one client and with three, in turns, and takes
// the time until the last of them has it.
func measureClients(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	one, three := overIPC, overIPC
	three.clients = 3
	slowest, single, err := sideBySide(ctx, 10, pick(b, 20, 10), l.way(b.startAgent, three), l.way(b.startAgent, one))
	if err != nil {
		return nil, err
	}
	const limit = 2
	a, z := slowest.percentile(50), single.percentile(50)
	return []row{{
		figure:   fmt.Sprintf("mute over ipc to payload complete at the slowest of %d clients, p50 of %d", three.clients, len(slowest)),
		measured: fmt.Sprintf("%s (p99 %s, max %s)", ms(a), ms(slowest.percentile(99)), ms(slowest.max())),
		baseline: fmt.Sprintf("%s (p99 %s, max %s), agent with one client", ms(z), ms(single.percentile(99)), ms(single.max())),
		ratio:    times(ratioOf(a, z)), target: fmt.Sprintf("≤ %d×", limit), met: a <= limit*z,
	}}, nil
}
