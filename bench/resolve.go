//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// nearLinear is how much more than ten times as long ten times as much may take: what sorting
// takes from 100 to 1,000.
const nearLinear = 1.3

// measureResolve reads what one OS event costs in the model, for several sizes of both inputs.
func measureResolve(ctx context.Context, _ *bench) ([]row, error) {
	r, err := goBench(ctx, "^BenchmarkResolveDiff$", "./internal/devices")
	if err != nil {
		return nil, err
	}
	took := func(endpoints, products int) time.Duration {
		return r.duration(fmt.Sprintf("BenchmarkResolveDiff/endpoints=%d/products=%d", endpoints, products), "ns/op")
	}
	const limit = time.Millisecond
	rows := []row{{
		figure: "resolve and diff, 100 endpoints × 100 products", measured: ms(took(100, 100)),
		target: "≤ " + ms(limit), met: took(100, 100) <= limit,
		baseline: ms(took(10, 10)) + ", 10 × 10", ratio: times(ratioOf(took(100, 100), took(10, 10))),
	}}
	for _, n := range []int{10, 100, 1000} {
		rows = append(rows,
			growth(fmt.Sprintf("resolve and diff, from 100 to 1000 endpoints, %d products", n), took(1000, n), took(100, n)),
			growth(fmt.Sprintf("resolve and diff, from 100 to 1000 products, %d endpoints", n), took(n, 1000), took(n, 100)))
	}
	pushes, err := goBench(ctx, "^BenchmarkPush$", "./internal/engine")
	if err != nil {
		return nil, err
	}
	large, small := pushes.duration("BenchmarkPush/endpoints=1000", "ns/op"), pushes.duration("BenchmarkPush/endpoints=100", "ns/op")
	rows = append(rows, growth("a push and two looks with 256 leases, from 100 to 1000 endpoints", large, small))
	return rows, errors.Join(r.missing, pushes.missing)
}

// growth compares the time for ten times as much with ten times the time.
func growth(what string, large, small time.Duration) row {
	r := ratioOf(large, small) / 10
	return row{
		figure: what, measured: ms(large), baseline: fmt.Sprintf("%s, ten times that of the smaller", ms(10*small)),
		ratio: times(r), target: fmt.Sprintf("near linear (≤ %g×)", nearLinear), met: r <= nearLinear,
	}
}
