//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

var resolveCommand = []string{"go", "test", "-run", "^$", "-bench", "^BenchmarkResolveDiff$", "./internal/devices"}

// nearLinear is how much more than ten times as long ten times as much may take: sorting is
// not linear, and larger sets fit into the CPU's caches less well.
const nearLinear = 1.5

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
		rows = append(rows, growth(fmt.Sprintf("resolve and diff, 1000 endpoints × %d products", products),
			grid[[2]int{1000, products}], grid[[2]int{100, products}], "100 endpoints"))
	}
	for _, endpoints := range sizes {
		rows = append(rows, growth(fmt.Sprintf("resolve and diff, %d endpoints × 1000 products", endpoints),
			grid[[2]int{endpoints, 1000}], grid[[2]int{endpoints, 100}], "100 products"))
	}
	return rows, nil
}

func growth(figure string, large, small time.Duration, of string) row {
	r := ratioOf(large, small) / 10
	return row{
		figure: figure, measured: ms(large), baseline: fmt.Sprintf("%s, ten times that of %s", ms(10*small), of),
		ratio: times(r), target: fmt.Sprintf("near linear (≤ %g×)", nearLinear), met: r <= nearLinear,
	}
}
