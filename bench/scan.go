//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

// measureScan reads what the search for the client's port takes beside a connect to it.
func measureScan(ctx context.Context, b *bench) ([]row, error) {
	alone, err := scan(ctx, "nobody-else", "1000x")
	if err != nil {
		return nil, err
	}
	holes, err := scan(ctx, "ten-black-holes", pick(b, "100x", "10x"))
	if err != nil {
		return nil, err
	}
	const most = 10
	floor := ratioOf(alone.each, alone.connect)
	unnoticed := holes.deadline / 10
	return []row{
		{
			figure:   "search of 11 ports, the client on the last, nobody on the others, p50",
			measured: ms(alone.scan), baseline: ms(alone.connect) + ", one connect to its port",
			ratio: times(ratioOf(alone.scan, alone.connect)), target: fmt.Sprintf("≤ %d×", most), met: alone.scan <= most*alone.connect,
			excuse: fmt.Sprintf("Bare connects to the eleven ports, one after another and with nothing asked, take %s (%s) here: "+
				"it is the kernel's time, and so short that waking a second core for half of them gains nothing.", ms(alone.each), times(floor)),
		},
		{
			figure:   "the same with ten ports that accept and never answer, slowest",
			measured: fmt.Sprintf("%s (p50 %s)", ms(holes.slowest), ms(holes.scan)),
			baseline: fmt.Sprintf("%s (p50 %s), nobody on them", ms(alone.slowest), ms(alone.scan)),
			ratio:    times(ratioOf(holes.slowest, alone.slowest)),
			target:   fmt.Sprintf("≤ %s: not waited for (each may take %s)", ms(unnoticed), ms(holes.deadline)), met: holes.slowest <= unnoticed,
		},
	}, nil
}

type scanResult struct{ connect, each, scan, slowest, deadline time.Duration }

// scan searches count times, with the given kind of programs on the other ports.
func scan(ctx context.Context, others, count string) (scanResult, error) {
	r, err := goBench(ctx, "^BenchmarkScan$/^"+others+"$", "./internal/rpcclient", "-benchtime", count)
	if err != nil {
		return scanResult{}, err
	}
	took := func(unit string) time.Duration { return r.duration("BenchmarkScan/"+others, unit) }
	return scanResult{
		connect: took("connect-p50-ns"), each: took("connect-each-p50-ns"), scan: took("scan-p50-ns"), slowest: took("scan-max-ns"),
		deadline: took("deadline-ns"),
	}, r.missing
}
