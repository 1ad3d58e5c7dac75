//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// sample is a set of durations.
type sample []time.Duration

// percentile returns the smallest value that at least p percent do not exceed; 0 of none.
func (s sample) percentile(p int) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func (s sample) max() time.Duration { return s.percentile(100) }

// busiest returns the largest number of times, which are in rising order, that fall into any
// one window of the given length.
func busiest(times []time.Time, window time.Duration) int {
	most, first := 0, 0
	for i, t := range times {
		for t.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// pause waits, or returns why it may not.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func ratioOf[T time.Duration | float64 | int | int64](a, b T) float64 { return float64(a) / float64(b) }

func times(ratio float64) string { return fmt.Sprintf("%.2f×", ratio) }

// ms shows a duration with the digits that mean something.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f ms", v)
	case v >= 10:
		return fmt.Sprintf("%.1f ms", v)
	case v >= 1:
		return fmt.Sprintf("%.2f ms", v)
	default:
		return fmt.Sprintf("%.3f ms", v)
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
