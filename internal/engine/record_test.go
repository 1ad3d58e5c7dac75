package engine_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
)

// event is one thing that happens in an hour, to the hardware, to a source or to the client.
// An hour is a list of them: data that a seed makes, that can be printed and played again.
type event struct {
	at   time.Duration // since the start of the hour
	do   deed
	who  string // which client
	what string // a unit, a source or a fault, as the deed wants it
	tri  devices.Tri
	n    int
}

type deed string

const (
	plug      deed = "plug"      // unit: comes or, if it is there, goes
	mute      deed = "mute"      // unit, tri
	process   deed = "process"   // field, tri: what the echo canceller does
	control   deed = "control"   // tri: the switch in the second headset's mixer
	look      deed = "look"      // source: reads again although nothing has changed
	fail      deed = "fail"      // source: fails or, if it does, recovers
	configure deed = "configure" // n: which of the settings comes into force

	misbehave deed = "misbehave" // fault, until it has met the agent; "none" ends it
	disturb   deed = "disturb"   // the same, whether or not it meets the agent; n = 1: connections break
	reconnect deed = "drop"      // the client's connections break
	restart   deed = "restart"   // the client comes back at once; n = 1: on another port
	away      deed = "away"      // the client goes, until back
	back      deed = "back"
	resend    deed = "resend"    // as after a resume of the machine
	rerun     deed = "rerun"     // the agent ends in order, and another begins
	reconcile deed = "reconcile" // all recover, and the clients must know the truth; n = 1: one that was given up has to restart
)

func (e event) String() string {
	s := fmt.Sprintf("%-15s %-9s %-10s %s", e.at, e.do, e.who, e.what)
	switch e.do {
	case mute, process, control:
		s += " " + e.tri.String()
	case configure, restart, disturb, reconcile:
		s += fmt.Sprint(" ", e.n)
	}
	return s
}

func listing(events []event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// The times that decide: how long a removal waits and how long a failed source is believed.
const (
	grace = time.Second
	stale = 30 * time.Second
)

// gap is the time to the next event: often short, often right beside a time that decides.
func gap(r *rand.Rand) time.Duration {
	edge := time.Duration(r.IntN(3) - 1)
	switch n := r.IntN(100); {
	case n < 70:
		return randN(r, time.Second)
	case n < 88:
		return randN(r, 5*time.Millisecond)
	case n < 96:
		return grace + edge
	case n < 98:
		return randN(r, stale)
	default:
		return stale + edge
	}
}

// hardware makes the events of the hardware and the sources for one hour.
func hardware(r *rand.Rand) []event {
	tris := []devices.Tri{devices.False, devices.True, devices.True, devices.False, devices.Unknown}
	one := func(names []string) string { return names[r.IntN(len(names))] }
	var out []event
	for at := time.Duration(0); at < time.Hour; at += gap(r) {
		e := event{at: at, tri: tris[r.IntN(len(tris))]}
		switch n := r.IntN(100); {
		case n < 40:
			e.do, e.what = mute, one(inputs)
		case n < 65:
			e.do, e.what = plug, one(units)
		case n < 75:
			e.do, e.what = process, string(devices.Fields[1+r.IntN(3)])
		case n < 80:
			e.do = control
		case n < 90:
			e.do, e.what = look, one(sources)
		case n < 98:
			e.do, e.what = fail, one(sources)
		default:
			e.do, e.n = configure, r.IntN(len(settings))
		}
		out = append(out, e)
	}
	return out
}

// incidents makes what happens to a single client in the hour: every fault of the deck at least
// once, and all else that can become of it.
func incidents(r *rand.Rand, deck []string) []event {
	var cards []event
	for _, fault := range deck {
		cards = append(cards, event{do: misbehave, what: fault})
	}
	for n := range 4 {
		cards = append(cards, event{do: reconnect}, event{do: restart}, event{do: restart, n: 1}, event{do: away}, event{do: resend},
			event{do: reconcile}, event{do: reconcile, n: 1}, event{do: reconcile, n: n % 2})
	}
	return deal(r, cards, func(step time.Duration) time.Duration { return step/4 + randN(r, step/2) })
}

// commotion makes what happens to several clients in the hour. All of them come, go and break;
// those that are troubled besides lose their socket for a while, and the unwell are met by
// every fault of the deck.
func commotion(r *rand.Rand, everybody, troubled, unwell, deck []string) []event {
	var cards []event
	for _, who := range everybody {
		for n := range 4 {
			cards = append(cards, event{do: reconnect, who: who}, event{do: restart, who: who, n: n % 2}, event{do: away, who: who})
		}
	}
	for _, who := range troubled {
		for n := range 4 {
			cards = append(cards, event{do: disturb, who: who, what: "ipc/refuse", n: n % 2})
		}
	}
	for _, who := range unwell {
		for _, fault := range deck {
			cards = append(cards, event{do: disturb, who: who, what: fault, n: r.IntN(2)})
		}
	}
	for n := range 6 {
		cards = append(cards, event{do: resend}, event{do: reconcile, n: n % 2})
	}
	cards = append(cards, event{do: rerun})
	return deal(r, cards, func(step time.Duration) time.Duration { return randN(r, 8*step) })
}

// deal spreads the cards over the hour in random order. What begins something ends it after span.
func deal(r *rand.Rand, cards []event, span func(step time.Duration) time.Duration) []event {
	r.Shuffle(len(cards), func(i, j int) { cards[i], cards[j] = cards[j], cards[i] })
	var out []event
	step := time.Hour / time.Duration(len(cards)+1)
	for i, e := range cards {
		e.at = step * time.Duration(i+1)
		out = append(out, e)
		end := event{at: e.at + span(step), who: e.who}
		switch e.do {
		case misbehave, disturb:
			end.do, end.what = e.do, "none"
		case away:
			end.do = back
		default:
			continue
		}
		out = append(out, end)
	}
	return out
}

// record makes the hour of a seed: that of the hardware, and more if there is any.
func record(seed uint64, more func(*rand.Rand) []event) []event {
	r := rand.New(rand.NewPCG(seed, 0))
	events := hardware(r)
	if more != nil {
		events = append(events, more(r)...)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return events
}

func randN(r *rand.Rand, n time.Duration) time.Duration { return time.Duration(r.Int64N(int64(n))) }
