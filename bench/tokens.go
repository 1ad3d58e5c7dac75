//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"sidetone/fakeserver"
)

const (
	bucketSize = 2 // of the desktop client
	// current is how long a state may be over when it arrives: the way to the client takes
	// time. It is below the shortest pause between two toggles.
	current     = 100 * time.Millisecond
	shortPause  = 150 * time.Millisecond
	pauseSpread = 500 * time.Millisecond
)

// press is one press of the mute button: somewhere between begin and end the state became mute.
type press struct {
	begin, end time.Time
	mute       bool
}

// taken is a list that the client let through.
type taken struct {
	arrived time.Time
	at      time.Time // later than arrived if it had to wait in line
	mute    bool
}

// httpReporter is a program that reports over HTTP, and what its client let through.
type httpReporter struct {
	*child
	mu    sync.Mutex
	taken []taken
}

// measureTokens presses the button at random pauses. An agent and a bare path report over HTTP
// to a client with a bucket like the real one's, and two more to one that refills fast, which
// shows more lists in the same time.
func measureTokens(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	real := pick(b, 30*time.Second, 7*time.Second)
	refills := []time.Duration{real, time.Second}
	var agents, bares []*httpReporter
	defer func() {
		for _, s := range append(agents, bares...) {
			err = errors.Join(err, s.stop())
		}
	}()
	for _, refill := range refills {
		for _, way := range []struct {
			start starter
			into  *[]*httpReporter
		}{{b.startAgent, &agents}, {b.startBare, &bares}} {
			s, err := newHTTPReporter(ctx, l, way.start, overHTTP(refill))
			if err != nil {
				return nil, err
			}
			*way.into = append(*way.into, s)
		}
	}
	length := 2*real - 2*time.Second // the last state is left to the token that comes then
	presses, err := l.randomToggles(ctx, length)
	if err != nil {
		return nil, err
	}
	for i, refill := range refills {
		more, err := tokenRows(ctx, refill, length, agents[i], bares[i], presses)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func newHTTPReporter(ctx context.Context, l *lab, start starter, s scene) (*httpReporter, error) {
	p := &httpReporter{}
	s.options.OnPayload = func(list fakeserver.Payload) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken = append(p.taken, taken{list.Time, time.Now(), mutes(list, true)})
	}
	var err error
	p.child, err = start(ctx, l, s)
	return p, err
}

func (s *httpReporter) lists() []taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken[:len(s.taken):len(s.taken)]
}

// randomToggles presses the button at random pauses. It starts unmuted.
func (l *lab) randomToggles(ctx context.Context, length time.Duration) ([]press, error) {
	var list []press
	mute := false
	for start := time.Now(); time.Since(start) < length; {
		if err := pause(ctx, shortPause+rand.N(pauseSpread)); err != nil {
			return nil, err
		}
		mute = !mute
		p := press{begin: time.Now(), mute: mute}
		if err := l.press(ctx, mute); err != nil {
			return nil, err
		}
		p.end = time.Now()
		list = append(list, p)
	}
	return list, nil
}

func tokenRows(ctx context.Context, refill, length time.Duration, agent, bare *httpReporter, presses []press) ([]row, error) {
	// The last token comes at most one refill after the last press.
	final, cancel := context.WithTimeout(ctx, refill+stepLimit)
	defer cancel()
	c := agent.clients[0]
	last := presses[len(presses)-1].mute
	delivered := c.Wait(final, func([]fakeserver.Device) bool {
		list := agent.lists()
		return list[len(list)-1].mute == last
	}) == nil
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	agentLists, bareLists := agent.lists(), bare.lists()
	late := lateness(agentLists, presses, refill)
	var hellos sample
	for range len(late) {
		took, err := hello(ctx, c)
		if err != nil {
			return nil, err
		}
		hellos = append(hellos, took)
	}
	what := fmt.Sprintf("HTTP only, %d tokens and one more each %s, %d toggles at random in %s: ", bucketSize, refill, len(presses), length)
	used, bareUsed := c.Stats(), bare.clients[0].Stats()
	over, bareOver := outdated(agentLists, presses), outdated(bareLists, presses)
	const limit = 100 * time.Millisecond
	return []row{
		{
			figure:   what + fmt.Sprintf("newest state at the client after the token for it was free, slowest of %d", len(late)),
			measured: fmt.Sprintf("%s (p50 %s), last state delivered: %t", ms(late.max()), ms(late.percentile(50)), delivered),
			baseline: fmt.Sprintf("%s (p50 %s), one bare connect and HTTP request", ms(hellos.max()), ms(hellos.percentile(50))),
			ratio:    times(ratioOf(late.max(), hellos.max())), target: "≤ " + ms(limit) + ", true", met: delivered && late.max() <= limit,
		},
		{
			figure:   what + "requests that had to wait in the client's line",
			measured: fmt.Sprintf("%d of %d", used.Waited, used.Spent+used.Queued),
			baseline: fmt.Sprintf("%d of %d, bare path", bareUsed.Waited, bareUsed.Spent+bareUsed.Queued),
			target:   "0", met: used.Waited == 0,
		},
		{
			figure:   what + "lists that were out of date when the client took them",
			measured: fmt.Sprintf("%d of %d", over, len(agentLists)), baseline: fmt.Sprintf("%d of %d, bare path", bareOver, len(bareLists)),
			target: "0", met: over == 0,
			note: "Out of date is a list whose state was no longer that of the microphone. An older state after a newer one would be one of them.",
		},
	}, nil
}
