//go:build linux

package main

import (
	"context"
	"fmt"
)

// measureReplay reads how fast the recording of a busy hour is replayed, beside decoding its lines
// and doing nothing with them.
func measureReplay(ctx context.Context, _ *bench) ([]row, error) {
	r, err := goBench(ctx, "^BenchmarkReplay$", "./internal/engine")
	if err != nil {
		return nil, err
	}
	const limit = 1000
	played, read := r.get("BenchmarkReplay/played", "times-real-time"), r.get("BenchmarkReplay/read", "times-real-time")
	return []row{{
		figure:   "replay of a recording of an hour with 36,000 inputs, from its text",
		measured: fmt.Sprintf("%.0f× real time", played), baseline: fmt.Sprintf("%.0f×, decoding the lines as any JSON", read),
		ratio: times(ratioOf(read, played)), target: fmt.Sprintf("≥ %d× real time", limit), met: played >= limit,
	}}, r.missing
}
