//go:build linux

package main

import (
	"context"
	"fmt"
	"time"
)

var resolveCommand = []string{"go", "test", "-run", "^$", "-bench", "^BenchmarkResolveDiff$", "./internal/devices"}

// nearLinear is how much more than ten times as long ten times as much may take: what sorting
// takes from 100 to 1,000.
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
		rows = append(rows, growth(fmt.Sprintf("from 100 to 1000 endpoints, %d products", products),
			grid[[2]int{1000, products}], grid[[2]int{100, products}]))
	}
	for _, endpoints := range sizes {
		rows = append(rows, growth(fmt.Sprintf("from 100 to 1000 products, %d endpoints", endpoints),
			grid[[2]int{endpoints, 1000}], grid[[2]int{endpoints, 100}]))
	}
	return rows, nil
}

// growth compares the time for ten times as much with ten times the time.
func growth(what string, large, small time.Duration) row {
	r := ratioOf(large, small) / 10
	return row{
		figure: "resolve and diff, " + what, measured: ms(large), baseline: fmt.Sprintf("%s, ten times that of the smaller", ms(10*small)),
		ratio: times(r), target: fmt.Sprintf("near linear (≤ %g×)", nearLinear), met: r <= nearLinear,
		excuse: "A virtual endpoint is compared, by expression, with each present product that names virtual ones: that part is quadratic.",
	}
}
