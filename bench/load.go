//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/signal"
)

const (
	// maxRSS is the target for resident memory after a load.
	maxRSS = 20 << 20
	// maxPerSecond is how many payloads a second a client may get.
	maxPerSecond = 50
	// floodConnections is how many connections share the pushes: each waits for its answers.
	floodConnections = 8
)

// load is many more changes of the mute than a client takes lists.
type load struct {
	what      string // name of the changes in the rows
	rate      int    // changes per second that are tried; fewer than nine tenths of it prove nothing
	length    time.Duration
	maxGrowth int64 // by which two readings of a process's memory may differ although it does not grow
	connect   func(context.Context, *child) *changer
}

type changer struct {
	sources []func(ctx context.Context, n int) error // they take turns; each waits until its change is made
	last    func(ctx context.Context, n int) error   // one more, after all others
	isLast  func(fakeserver.Payload) bool            // recognises the payload with the last change

	next atomic.Int64 // number of the next change
	sent atomic.Int64
}

type loadResult struct {
	rate              float64       // changes per second
	sent              int           // changes
	first, last       usage         // before and after them
	payloads, busiest int           // payloads in all, and in the busiest second
	right             bool          // the last payload had the last change
	late              time.Duration // from the last change to the last payload, 0 if that came before
}

func measureStorm(ctx context.Context, b *bench, labs []*lab) []row {
	l := labs[0]
	return load{
		what: "toggles", rate: 1000, length: pick(b, 100*time.Second, 3*time.Second), maxGrowth: 512 << 10, // some pages of the heap
		connect: func(context.Context, *child) *changer {
			b.check(l.press(ctx, false)) // also after an earlier load
			return &changer{
				sources: []func(context.Context, int) error{func(ctx context.Context, n int) error { return l.press(ctx, n%2 == 0) }},
				last:    func(ctx context.Context, _ int) error { return l.press(ctx, true) },
				isLast:  func(p fakeserver.Payload) bool { return mutes(p, true) },
			}
		},
	}.measure(ctx, l, l.bare, "bare path")
}

func measureFlood(ctx context.Context, b *bench, labs []*lab) []row {
	l := labs[0]
	return load{
		what: fmt.Sprintf("pushes over %d connections", floodConnections), rate: 10_000, length: pick(b, 10*time.Second, 2*time.Second),
		maxGrowth: 1 << 20, // every connection has buffers and goroutines
		connect:   connectPushers,
	}.measure(ctx, l, l.pushServer, "bare server")
}

// connectPushers opens floodConnections connections of one owner. Sequence numbers tell which push is the
// last, in whatever order they arrive; the last has a flag that no push before it has.
func connectPushers(ctx context.Context, c *child) *changer {
	f := &changer{}
	var pushers []*pusher
	for range floodConnections {
		p, err := dialPusher(ctx, c.controlSocket())
		c.check(err)
		c.cleanup(p.Close)
		pushers = append(pushers, p)
		f.sources = append(f.sources, func(_ context.Context, n int) error { return p.push(n+1, muted(n%2 == 0)) })
	}
	f.last = func(_ context.Context, n int) error {
		return pushers[0].push(n+1, `{"hardware_mute":true,"noise_suppression":true}`)
	}
	f.isLast = func(p fakeserver.Payload) bool {
		suppresses := func(d fakeserver.Device) bool { return d.NoiseSuppression != nil && *d.NoiseSuppression }
		return mutes(p, true) && slices.ContainsFunc(p.Devices, suppresses)
	}
	return f
}

func (o load) measure(ctx context.Context, l *lab, baseline func(*place) command, name string) []row {
	bare, agent := o.on(ctx, l, baseline), o.on(ctx, l, l.agent)
	what := fmt.Sprintf("%d %s per second for %s: ", o.rate, o.what, o.length)
	enough := o.rate * 9 / 10
	growth := agent.last.rss - agent.first.rss
	speed := func(r loadResult) string {
		return fmt.Sprintf("%.0f (%s of CPU time each)", r.rate, ms((r.last.cpu-r.first.cpu)/time.Duration(r.sent)))
	}
	memory := func(r loadResult) string {
		return fmt.Sprintf("%s (to %s)", kib(r.last.rss-r.first.rss), r.last.memory())
	}
	return []row{
		{
			figure: what + "answered per second", measured: speed(agent), baseline: speed(bare) + ", " + name,
			ratio:  times(ratioOf(agent.rate, bare.rate)),
			target: fmt.Sprintf("≥ %d", enough), met: agent.rate >= float64(enough),
		},
		{
			figure: what + "payloads in the busiest second", measured: fmt.Sprintf("%d (%d in all)", agent.busiest, agent.payloads),
			baseline: fmt.Sprintf("%d (%d in all), %s", bare.busiest, bare.payloads, name),
			ratio:    times(ratioOf(agent.busiest, bare.busiest)),
			target:   fmt.Sprintf("≤ %d", maxPerSecond), met: agent.busiest <= maxPerSecond,
		},
		{
			figure: what + "last state at the client", measured: fmt.Sprintf("%t, after %s", agent.right, ms(agent.late)),
			baseline: fmt.Sprintf("after %s, %s", ms(bare.late), name), target: "true", met: agent.right,
		},
		{
			figure:   what + fmt.Sprintf("growth of resident memory over the last %d", agent.sent),
			measured: memory(agent), baseline: memory(bare) + ", " + name,
			target: fmt.Sprintf("≤ %s, to ≤ %s", kib(o.maxGrowth), mib(maxRSS)), met: growth <= o.maxGrowth && agent.last.rss <= maxRSS,
			note: "Growth of memory: after as much as a tenth of the load, which fills heap and buffers to the size that they keep.",
		},
	}
}

// on puts the load on a program: first a tenth of it, which does not count, and then all of it.
func (o load) on(ctx context.Context, l *lab, program func(*place) command) (r loadResult) {
	c := l.start(ctx, program, overIPC)
	defer c.stop()
	f := o.connect(ctx, c)
	l.check(f.makeChanges(ctx, o.rate, o.length/10))
	r.first = c.usageAtRest(ctx)
	before, sent, began := c.newest().Seq, f.sent.Load(), time.Now()
	l.check(f.makeChanges(ctx, o.rate, o.length))
	l.check(f.last(ctx, int(f.next.Add(1))))
	ended := time.Now()
	r.last = c.usageAtRest(ctx)
	var arrived []time.Time
	for _, p := range c.clients[0].Payloads() {
		if p.Seq > before {
			arrived = append(arrived, p.Time)
		}
	}
	last := c.newest()
	r.sent, r.payloads, r.busiest = int(f.sent.Load()-sent), last.Seq-before, busiest(arrived, time.Second)
	r.rate = float64(r.sent) / ended.Sub(began).Seconds()
	r.right, r.late = f.isLast(last), max(0, last.Time.Sub(ended))
	return r
}

// makeChanges makes changes for a while. It does not make up for changes that were late.
func (f *changer) makeChanges(ctx context.Context, rate int, length time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	began, before := time.Now(), f.next.Load()
	var changing sync.WaitGroup
	for _, change := range f.sources {
		changing.Go(func() {
			for {
				n := f.next.Add(1) - 1
				due := time.Duration(n-before) * time.Second / time.Duration(rate)
				if due >= length || time.Since(began) >= length {
					return
				}
				err := signal.Sleep(ctx, time.Until(began.Add(due)))
				if err == nil {
					err = change(ctx, int(n))
				}
				if err != nil {
					stop(err)
					return
				}
				f.sent.Add(1)
			}
		})
	}
	changing.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("change the mute %d times a second: %w", rate, err)
	}
	return nil
}

// usageAtRest leaves a program alone for a second, in which it may finish, and returns what it has used by then.
func (c *child) usageAtRest(ctx context.Context) usage {
	c.check(signal.Sleep(ctx, time.Second))
	return c.usage()
}

func (c *child) newest() fakeserver.Payload {
	all := c.clients[0].Payloads()
	return all[len(all)-1]
}

// busiest returns the largest number of times, which are in ascending order, in any window of the given length.
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

func kib(bytes int64) string { return fmt.Sprintf("%+d KiB", bytes>>10) }
