//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// minRate is the rate of toggles below which a storm is none, and proves nothing.
const minRate = 900

// stormResult is what a client got of a storm of toggles.
type stormResult struct {
	rate    float64 // toggles per second that the sound server took
	busiest int     // payloads in the busiest second
	total   int
	last    bool          // the last payload bore the last state
	late    time.Duration // from the last toggle to the last payload, 0 if that bore the state already
}

// measureStorm presses the button 1,000 times per second.
func measureStorm(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	length := pick(b, 10*time.Second, 3*time.Second)
	bare, err := l.storm(ctx, b.startBare, length)
	if err != nil {
		return nil, err
	}
	agent, err := l.storm(ctx, b.startAgent, length)
	if err != nil {
		return nil, err
	}
	strong := agent.rate >= minRate
	excuse := ""
	if !strong {
		excuse = fmt.Sprintf("The sound server took less than %d toggles/s, so nothing is proven: the machine was too busy.", minRate)
	}
	what := fmt.Sprintf("%.0f toggles/s for %s: ", agent.rate, length)
	return []row{
		{
			figure:   what + "payloads in the busiest second",
			measured: fmt.Sprintf("%d (%d in all)", agent.busiest, agent.total),
			baseline: fmt.Sprintf("%d (%d in all), bare path at %.0f toggles/s", bare.busiest, bare.total, bare.rate),
			ratio:    times(ratioOf(agent.busiest, bare.busiest)),
			target:   "≤ 50", met: strong && agent.busiest <= 50, excuse: excuse,
		},
		{
			figure:   what + "last state delivered",
			measured: fmt.Sprintf("%t, after %s", agent.last, ms(agent.late)),
			baseline: fmt.Sprintf("%t, after %s, bare path", bare.last, ms(bare.late)),
			target:   "true", met: strong && agent.last, excuse: excuse,
		},
	}, nil
}

func (l *lab) storm(ctx context.Context, start starter, length time.Duration) (r stormResult, err error) {
	c, err := start(ctx, l, overIPC)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop(), l.press(ctx, false)) }()
	began, n := time.Now(), 0
	muted := false
	for ; time.Since(began) < length || !muted; n++ {
		if err := pause(ctx, time.Until(began.Add(time.Duration(n)*time.Millisecond))); err != nil {
			return r, err
		}
		muted = !muted
		if err := l.press(ctx, muted); err != nil {
			return r, err
		}
	}
	ended := time.Now()
	r.rate = float64(n) / ended.Sub(began).Seconds()
	if err := pause(ctx, time.Second); err != nil { // whatever else there is comes now
		return r, err
	}
	payloads := c.clients[0].Payloads()
	var arrived []time.Time
	for _, p := range payloads {
		if p.Time.After(began) {
			arrived = append(arrived, p.Time)
		}
	}
	last := payloads[len(payloads)-1]
	r.busiest, r.total = busiest(arrived, time.Second), len(arrived)
	r.last, r.late = mutes(last, muted), max(0, last.Time.Sub(ended))
	return r, nil
}
