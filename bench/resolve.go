//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

var resolveCommand = []string{"go", "test", "-run", "^$", "-bench", "^BenchmarkResolveDiff$", "./internal/devices"}

var pushCommand = []string{"go", "test", "-run", "^$", "-bench", "^BenchmarkPush$", "./internal/engine"}

// nearLinear is how much more than ten times as long ten times as much may take: what sorting
// takes from 100 to 1,000.
const nearLinear = 1.3

// measureResolve reads what one OS event costs in the model, for several sizes of both inputs.
func measureResolve(ctx context.Context, b *bench) ([]row, error) {
	r, err := goTest(ctx, resolveCommand)
	if err != nil {
		return nil, err
	}
	grid := make(map[[2]int]time.Duration)
	sizes := []int{10, 100, 1000}
	for _, endpoints := range sizes {
		for _, products := range sizes {
			ns, err := r.get(fmt.Sprintf("BenchmarkResolveDiff/endpoints=%d/products=%d", endpoints, products), "ns/op")
			if err != nil {
				return nil, err
			}
			grid[[2]int{endpoints, products}] = time.Duration(ns)
		}
	}
	const limit = time.Millisecond
	rows := []row{{
		figure: "resolve and diff, 100 endpoints × 100 products", measured: ms(grid[[2]int{100, 100}]),
		target: "≤ " + ms(limit), met: grid[[2]int{100, 100}] <= limit,
		baseline: ms(grid[[2]int{10, 10}]) + ", 10 × 10", ratio: times(ratioOf(grid[[2]int{100, 100}], grid[[2]int{10, 10}])),
	}}
	for _, products := range sizes {
		rows = append(rows, growth(fmt.Sprintf("resolve and diff, from 100 to 1000 endpoints, %d products", products),
			grid[[2]int{1000, products}], grid[[2]int{100, products}]))
	}
	for _, endpoints := range sizes {
		rows = append(rows, growth(fmt.Sprintf("resolve and diff, from 100 to 1000 products, %d endpoints", endpoints),
			grid[[2]int{endpoints, 1000}], grid[[2]int{endpoints, 100}]))
	}
	pushes, err := goTest(ctx, pushCommand)
	if err != nil {
		return nil, err
	}
	small, err := pushes.get("BenchmarkPush/endpoints=100", "ns/op")
	if err != nil {
		return nil, err
	}
	large, err := pushes.get("BenchmarkPush/endpoints=1000", "ns/op")
	if err != nil {
		return nil, err
	}
	return append(rows, growth("a push and two looks with 256 leases, from 100 to 1000 endpoints", time.Duration(large), time.Duration(small))), nil
}

// growth compares the time for ten times as much with ten times the time.
func growth(what string, large, small time.Duration) row {
	r := ratioOf(large, small) / 10
	return row{
		figure: what, measured: ms(large), baseline: fmt.Sprintf("%s, ten times that of the smaller", ms(10*small)),
		ratio: times(r), target: fmt.Sprintf("near linear (≤ %g×)", nearLinear), met: r <= nearLinear,
	}
}
