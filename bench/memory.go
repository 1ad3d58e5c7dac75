//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetone/internal/testlab"
)

const (
	// maxRSS is the target for resident memory after much has happened.
	maxRSS = 20 << 20
	// maxIdleRSS is that of an agent that has just been started, without the features that have a
	// budget of their own.
	maxIdleRSS = 17 << 20
)

// growthAllowed is what two readings of a process that does not grow may differ by: some
// pages of the heap between two collections.
const growthAllowed = 512 << 10

// measureMemory presses the button as fast as the sound server can follow. The first tenth of
// the presses fills the runtime's heap to the size that it keeps; growth is what comes after.
func measureMemory(ctx context.Context, b *bench) (rows []row, err error) {
	i, err := b.newIdlePair(ctx, testlab.PulseAudio)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	presses := pick(b, 100_000, 10_000)
	var readings []pair
	for _, n := range []int{0, presses / 10, presses - presses/10} {
		if err := i.toggleFast(ctx, n); err != nil {
			return nil, err
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return nil, err
		}
		now, err := usages([]*idlePair{i})
		if err != nil {
			return nil, err
		}
		readings = append(readings, now[0])
	}
	first, tenth, last := readings[0], readings[1], readings[2]
	growth := last.agent.rss - tenth.agent.rss
	return []row{
		{
			figure:   fmt.Sprintf("resident memory after %d toggles", presses),
			measured: fmt.Sprintf("%s (before: %s)", memory(last.agent), mib(first.agent.rss)),
			baseline: fmt.Sprintf("%s (before: %s), bare path", memory(last.bare), mib(first.bare.rss)),
			ratio:    times(ratioOf(last.agent.rss, last.bare.rss)),
			target:   "≤ " + mib(maxRSS), met: last.agent.rss <= maxRSS,
			excuse: "The Go runtime lets the heap grow to 4 MiB before it collects, unless told otherwise.",
		},
		{
			figure:   fmt.Sprintf("growth of resident memory from toggle %d to toggle %d", presses/10, presses),
			measured: kib(growth), baseline: kib(last.bare.rss-tenth.bare.rss) + ", bare path",
			target: "none (≤ " + kib(growthAllowed) + ")", met: growth <= growthAllowed,
			note: "Growth of memory: the first tenth of the toggles fills the Go runtime's heap to the size that it keeps.",
		},
	}, nil
}

// memory shows how much of it other processes may share.
func memory(u usage) string { return fmt.Sprintf("%s, %s of it files", mib(u.rss), mib(u.files)) }

func kib(bytes int64) string { return fmt.Sprintf("%+d KiB", bytes>>10) }

// toggleFast presses the button n times, an even number, without a pause.
func (l *lab) toggleFast(ctx context.Context, n int) error {
	for k := range n {
		if err := l.press(ctx, k%2 == 0); err != nil {
			return err
		}
	}
	return nil
}
