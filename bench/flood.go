//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
)

const (
	// floodRate is how many pushes per second are tried.
	floodRate = 10_000
	// minFloodRate is the rate below which the flood is none, and proves nothing.
	minFloodRate = floodRate * 9 / 10
	// floodConnections is how many connections share the pushes: each waits for its answer.
	floodConnections = 8
	// floodGrowth is what resident memory of a process that does not grow may differ by after the
	// first second: see growthAllowed, and here every connection has buffers and goroutines.
	floodGrowth = 1 << 20
)

// floodResult is what has become of a program in a flood of pushes.
type floodResult struct {
	rate        float64 // answered pushes per second
	sent        int     // pushes
	first, last usage   // after the first second, and after all
	busiest     int     // payloads in the busiest second
	payloads    int
	right       bool          // the last payload bore the last push
	late        time.Duration // from the last answer to the last payload, 0 if that came before
	leases      int           // in force afterwards; of the agent only
}

// each is the CPU time of a push.
func (r floodResult) each() time.Duration { return (r.last.cpu - r.first.cpu) / time.Duration(r.sent) }

// measureFlood pushes 10,000 times per second.
func measureFlood(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	length := pick(b, 10*time.Second, 2*time.Second)
	bare, err := l.flood(ctx, b.startPushBare, length, nil)
	if err != nil {
		return nil, err
	}
	agent, err := l.flood(ctx, b.startAgent, length, countLeases)
	if err != nil {
		return nil, err
	}
	strong := agent.rate >= minFloodRate
	excuse := ""
	if !strong {
		excuse = fmt.Sprintf("%d pushes/s were tried; agent, client and bench together do not get so far on this machine.", floodRate)
	}
	growth := agent.last.rss - agent.first.rss
	what := fmt.Sprintf("flood of pushes for %s over %d connections: ", length, floodConnections)
	return []row{
		{
			figure: what + "answered per second", measured: fmt.Sprintf("%.0f (%s of CPU time each)", agent.rate, ms(agent.each())),
			baseline: fmt.Sprintf("%.0f (%s), bare server", bare.rate, ms(bare.each())), ratio: times(ratioOf(agent.rate, bare.rate)),
			target: fmt.Sprintf("%d (≥ %d)", floodRate, minFloodRate), met: strong, excuse: excuse,
		},
		{
			figure: what + "last push at the client, leases in force",
			measured: fmt.Sprintf("%t, after %s; %d (payloads: %d, %d in the busiest second)",
				agent.right, ms(agent.late), agent.leases, agent.payloads, agent.busiest),
			baseline: fmt.Sprintf("payloads: %d, bare server", bare.payloads),
			target:   "true; 1", met: agent.right && agent.leases == 1,
		},
		{
			figure:   what + fmt.Sprintf("growth of resident memory over the last %d", agent.sent),
			measured: fmt.Sprintf("%s (to %s)", kib(growth), memory(agent.last)),
			baseline: fmt.Sprintf("%s (to %s), bare server", kib(bare.last.rss-bare.first.rss), memory(bare.last)),
			target:   "none (≤ " + kib(floodGrowth) + ")", met: growth <= floodGrowth,
			note: "Flood of pushes: memory is compared with that after a first second of the flood. The last push bears a flag that no other has.",
		},
	}, nil
}

// countLeases asks the agent, which has to be well for that, what is in force.
func countLeases(ctx context.Context, c *child) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, c.controlSocket()) })
	status, err := client.Status(ctx)
	return len(status.Pushes), err
}

// flood starts a program and floods it for one second, and then for length. leases, if not nil,
// counts those in force at its end.
func (l *lab) flood(ctx context.Context, start starter, length time.Duration,
	leases func(context.Context, *child) (int, error),
) (r floodResult, err error) {
	c, err := start(ctx, l, overIPC)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	f := &flood{child: c}
	defer f.close()
	if err := f.connect(ctx); err != nil {
		return r, err
	}
	if r, err = f.run(ctx, length); err == nil && leases != nil {
		r.leases, err = leases(ctx, c)
	}
	return r, err
}

// flood is many pushes of one owner to a child over several connections. Their numbers tell
// which of them is the last, whichever way they come.
type flood struct {
	*child
	pushers []*pusher

	mu  sync.Mutex
	seq uint64 // of the last push
}

func (f *flood) connect(ctx context.Context) error {
	for range floodConnections {
		p, err := dialPusher(ctx, f.controlSocket())
		if err != nil {
			return err
		}
		f.pushers = append(f.pushers, p)
	}
	return nil
}

func (f *flood) close() {
	for _, p := range f.pushers {
		_ = p.Close()
	}
}

// run floods for a second, which fills heap and buffers to the size that they keep, and then
// for length.
func (f *flood) run(ctx context.Context, length time.Duration) (r floodResult, err error) {
	if err := f.wave(ctx, time.Second); err != nil {
		return r, err
	}
	if r.first, err = f.rest(ctx); err != nil {
		return r, err
	}
	before, sent, began := f.newest().Seq, f.seq, time.Now()
	err = f.wave(ctx, length)
	if err == nil {
		err = f.mark()
	}
	if err != nil {
		return r, err
	}
	ended := time.Now()
	if r.last, err = f.rest(ctx); err != nil {
		return r, err
	}
	var arrived []time.Time
	for _, p := range f.clients[0].Payloads() {
		if p.Seq > before {
			arrived = append(arrived, p.Time)
		}
	}
	last := f.newest()
	r.sent, r.payloads, r.busiest = int(f.seq-sent), last.Seq-before, busiest(arrived, time.Second)
	r.rate = float64(r.sent) / ended.Sub(began).Seconds()
	r.right, r.late = mutes(last, muteOf(f.seq)) && marked(last), max(0, last.Time.Sub(ended))
	return r, nil
}

// newest is the last payload that the client has got.
func (f *flood) newest() fakeserver.Payload {
	all := f.clients[0].Payloads()
	return all[len(all)-1]
}

// muteOf is the state of a push by its number.
func muteOf(seq uint64) bool { return seq%2 == 1 }

// wave pushes for length.
func (f *flood) wave(ctx context.Context, length time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	began, before := time.Now(), f.seq
	var pushing sync.WaitGroup
	for _, p := range f.pushers {
		pushing.Go(func() {
			for {
				seq, due, more := f.next(began, length, before)
				if !more {
					return
				}
				err := pause(ctx, time.Until(due))
				if err == nil {
					err = p.push(seq, muted(muteOf(seq)))
				}
				if err != nil {
					stop(err)
					return
				}
			}
		})
	}
	pushing.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("flood the %s: %w; its last words:\n%s", f.name, err, f.tail())
	}
	return nil
}

// next is the number of the next push of a wave and when it is due; false when the wave is over.
func (f *flood) next(began time.Time, length time.Duration, before uint64) (seq uint64, due time.Time, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	after := time.Duration(f.seq-before) * time.Second / floodRate
	if after >= length || time.Since(began) >= length {
		return 0, time.Time{}, false
	}
	f.seq++
	return f.seq, began.Add(after), true
}

// mark is a last push right behind a wave. It bears a flag that no push before it has, so that
// the list that holds it is known.
func (f *flood) mark() error {
	f.seq++
	return f.pushers[0].push(f.seq, fmt.Sprintf(`{"hardware_mute":%t,"noise_suppression":true}`, muteOf(f.seq)))
}

// marked reports whether a payload holds what mark has pushed.
func marked(p fakeserver.Payload) bool {
	return slices.ContainsFunc(p.Devices, func(d fakeserver.Device) bool { return d.NoiseSuppression != nil && *d.NoiseSuppression })
}

// rest leaves the program alone for a second, in which whatever else there is comes, and
// returns what it has used by then.
func (f *flood) rest(ctx context.Context) (usage, error) {
	if err := pause(ctx, time.Second); err != nil {
		return usage{}, err
	}
	return f.usage()
}
