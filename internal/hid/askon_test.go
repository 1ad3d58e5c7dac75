package hid_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"sidetone/internal/hid"
	"sidetone/internal/testlab"

	"github.com/stretchr/testify/require"
)

const (
	asking = `
    sources:
      - {field: hardware_mute, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}], value: {byte: 1, on: [1], off: [0]}, timeout_ms: 500, ask_on: [{byte: 0, in: [1, 2]}]}}
`
	question = "hidraw0 output 11 01"
)

// known is a world in which the device has answered that the state is true, a while ago.
func known(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, asking)
	w.happen(at("hidraw0", reports(1, 2, 3, 4)))
	require.Equal(t, question, w.asked())
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	w.quiet("the answer is no cause")
	return w
}

// quiet says that nothing is asked, and nothing will be.
func (w *world) quiet(why string) {
	w.t.Helper()
	require.Empty(w.t, w.asked(), why)
	require.True(w.t, w.tr.Due().IsZero(), why)
}

// pass lets time pass without an event.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.tr.Expire(w.now)
}

func TestAskOn(t *testing.T) {
	w := known(t)
	w.happen(in("hidraw0", 3, 1), in("hidraw0"))
	w.quiet("reports that are no cause")
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 0)), "it stays known while the device is asked")
	require.Equal(t, question, w.asked())
	w.pass(300 * time.Millisecond)
	w.apply(in("hidraw0", 1, 0))
	require.Equal(t, "sources[0]=false", w.states())
	w.quiet("the answer is no cause")
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, question, w.asked(), "what looks like an answer is a cause if nobody has asked")
	require.Equal(t, "sources[0]=false", w.states())
}

// Each lost report is a reason to forget, but a thousand of them at once are one reason to ask.
func TestManyLostReportsAreAskedAboutOnce(t *testing.T) {
	w := known(t)
	w.pass(time.Second)
	asked := 0
	for range 1000 {
		w.apply(hid.Event{Node: "hidraw0", Kind: hid.Lost})
		if w.asked() != "" {
			asked++
		}
		w.pass(100 * time.Microsecond)
	}
	require.Equal(t, 1, asked)
	require.Equal(t, "sources[0]=unknown", w.states())
	w.pass(200 * time.Millisecond)
	require.Equal(t, question, w.asked(), "what came before the last loss counts no more")
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=unknown", w.states(), "that may have been the answer to a question that was broken off")
	require.Equal(t, question, w.asked())
	w.pass(300 * time.Millisecond)
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=true", w.states())
	w.quiet("nothing more was lost")
}

func TestAskOnDuringAConversation(t *testing.T) {
	w := known(t)
	w.happen(in("hidraw0", 2))
	require.Equal(t, question, w.asked())
	w.pass(300 * time.Millisecond)
	w.apply(in("hidraw0", 2))
	w.apply(in("hidraw0", 2))
	require.Empty(t, w.asked(), "its turn has not come")
	w.apply(in("hidraw0", 1, 0))
	require.Equal(t, "sources[0]=false", w.states())
	require.Equal(t, question, w.asked(), "the answer may be older than the cause")
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=true", w.states())
	w.quiet("two causes before one question")
}

// A cause that comes soon after a question waits, and is not lost.
func TestAskOnSoonAfterAQuestion(t *testing.T) {
	w := known(t)
	w.happen(in("hidraw0", 2))
	require.Equal(t, question, w.asked())
	begin := w.now
	for range 10 {
		w.pass(time.Millisecond)
		w.apply(in("hidraw0", 1, 0))
		w.apply(in("hidraw0", 2))
		require.Empty(t, w.asked())
	}
	require.Equal(t, begin.Add(hid.AskGap), w.tr.Due())
	w.expire()
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1))
	require.Equal(t, "sources[0]=true", w.states())
	w.quiet("one question for all of them")

	w.happen(in("hidraw0", 2))
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1))
	w.now = w.now.Add(-time.Hour)
	w.apply(in("hidraw0", 2))
	require.Equal(t, question, w.asked(), "the clock has been set back")
}

// One whose first request has yet to go out learns what is newer than the cause.
func TestAskOnBeforeTheRequestIsOut(t *testing.T) {
	w := newWorld(t, asking)
	w.happen(at("hidraw0", reports(1, 2)), in("hidraw0", 2))
	require.Equal(t, question, w.asked())
	w.happen(in("hidraw0", 1, 1))
	w.quiet("it was asked once for both")
}

// A device whose state has changed and that does not say how is not known any more.
func TestAskOnWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]func(w *world){
		"none":                    func(w *world) { w.expire() },
		"one that tells no state": func(w *world) { w.happen(in("hidraw0", 1, 7)) },
		"maybe it was not sent":   func(w *world) { w.happen(w.answer(question)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := known(t)
			w.happen(in("hidraw0", 2))
			require.Equal(t, question, w.asked())
			c(w)
			require.Equal(t, "sources[0]=unknown", w.states())
			w.quiet("nobody asks for ever")
			w.happen(in("hidraw0", 2))
			require.Equal(t, question, w.asked())
			w.happen(in("hidraw0", 1, 0))
			if name != "one that tells no state" {
				require.Equal(t, "sources[0]=unknown", w.states(), "that may have been the answer to the last question")
				require.Equal(t, question, w.asked())
				w.happen(in("hidraw0", 1, 0))
			}
			require.Equal(t, "sources[0]=false", w.states())
			w.quiet("answered")
		})
	}
}

// What a device has told unasked stays known, although it does not answer beside.
func TestEventDuringAConversation(t *testing.T) {
	w := newWorld(t, `
    sources: [{field: hardware_mute, hidpp: {feature: "0601", event: 0, read: 1, value: {byte: 0}}}]
`)
	w.happen(at("hidraw0", reports(1, 0x11)), long(0x11, 0xff, 0, 0x0d, 8))
	require.Equal(t, "sources[0]=true", w.happen(long(0x11, 0xff, 8, 0, 1)))
	require.Equal(t, "sources[0]=true", w.expire())
}

// waits is a world in which a cause waits for the end of the gap.
func waits(t *testing.T) *world {
	t.Helper()
	w := known(t)
	w.happen(in("hidraw0", 2))
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 1))
	w.apply(in("hidraw0", 2))
	require.Equal(t, w.now.Add(hid.AskGap), w.tr.Due())
	require.Empty(t, w.asked())
	return w
}

// What is asked anyhow is not asked once more for a cause that is older.
func TestAskOnIsForgotten(t *testing.T) {
	for name, forget := range map[string]func(w *world){
		"resume":       func(w *world) { w.tr.Resume(w.now, w.now) },
		"lost reports": func(w *world) { w.apply(lost("hidraw0")) },
		"plugged in":   func(w *world) { w.apply(at("hidraw0", reports(1, 2))) },
	} {
		t.Run(name, func(t *testing.T) {
			w := waits(t)
			forget(w)
			require.Equal(t, question, w.asked())
			require.Equal(t, "sources[0]=unknown", w.states())
			w.apply(in("hidraw0", 1, 0))
			require.Equal(t, "sources[0]=false", w.states())
			w.quiet("what was to be asked has been")
		})
	}
	w := waits(t)
	w.apply(gone("hidraw0"))
	w.quiet("gone")
	w = waits(t)
	w.tr.Configure(rulesOf(t, "    sources: []\n"), w.now)
	w.quiet("no rule")
	w = waits(t)
	w.tr.Configure(rulesOf(t, asking), w.now)
	w.expire()
	require.Equal(t, question, w.asked(), "the rule has stayed")
}

func TestAskOnAndTheLink(t *testing.T) {
	w := newWorld(t, `
    link_state: [{hid_report: {report_id: 4, value: {byte: 1, on: [1], off: [0]}}}]`+asking)
	w.happen(at("hidraw0", reports(1, 2, 4)))
	w.asked()
	w.happen(in("hidraw0", 1, 1), in("hidraw0", 4, 1))
	require.Equal(t, question, w.asked(), "the link is up")
	w.apply(in("hidraw0", 1, 1))
	w.apply(in("hidraw0", 2))
	require.False(t, w.tr.Due().IsZero())
	w.apply(in("hidraw0", 4, 0))
	require.Equal(t, "link_state[0]=false sources[0]=unknown", w.states())
	w.quiet("the headset has gone")
}

// The state of a link that is asked for again has consequences, too.
func TestAskOnOfALink(t *testing.T) {
	w := newWorld(t, `
    link_state: [{hid_query: {output: ["14 01"], expect: [{byte: 0, eq: 4}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 3}]}}]
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`)
	w.happen(at("hidraw0", reports(1, 3, 4)))
	require.Equal(t, "hidraw0 output 14 01", w.asked())
	require.Equal(t, "link_state[0]=true sources[0]=true", w.happen(in("hidraw0", 4, 1), in("hidraw0", 1, 1)))
	w.happen(in("hidraw0", 3))
	require.Equal(t, "hidraw0 output 14 01", w.asked())
	require.Equal(t, "link_state[0]=false sources[0]=unknown", w.happen(in("hidraw0", 4, 0)))
	w.happen(in("hidraw0", 3))
	require.Equal(t, "hidraw0 output 14 01", w.asked())
	require.Equal(t, "link_state[0]=true sources[0]=unknown", w.happen(in("hidraw0", 4, 1)))
	w.happen(in("hidraw0", 1, 1), in("hidraw0", 3))
	w.asked()
	require.Equal(t, "link_state[0]=unknown sources[0]=unknown", w.expire(), "it may have been away")
}

// An anchor that is asked again puts its toggle right.
func TestAskOnOfAnAnchor(t *testing.T) {
	w := newWorld(t, toggleOf(`hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 2}]}`))
	w.happen(at("hidraw0", reports(1, 2)))
	require.Equal(t, "hidraw0 feature 22", w.asked())
	require.Equal(t, "sources[0]=false", w.happen(w.answer("hidraw0 feature 22", 0x22, 1), in("hidraw0", 1, 1)))
	w.happen(in("hidraw0", 2))
	require.Equal(t, "hidraw0 feature 22", w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer("hidraw0 feature 22", 0x22, 1)))
	w.quiet("answered")
}

// A device that answers each question with causes for more is asked once for each gap, whoever else
// is asked beside; and when it has come to rest, what it said last is what is known.
func TestAskOnIsNoStorm(t *testing.T) {
	t.Parallel()
	if testlab.RanUnraced(t) { // there is one goroutine only
		return
	}
	const two = asking + `
      - {field: noise_suppression, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, max: 4}]}}
`
	rules := rulesOf(t, two)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := worldOf(t, rules)
		w.happen(at("hidraw0", reports(1, 2, 3)))
		asked := map[string]time.Time{}
		truth, questions := byte(0), 0
		answer := func() {
			for requests := w.tr.Requests(); len(requests) > 0; requests = w.tr.Requests() {
				if len(requests) != 1 {
					require.Len(t, requests, 1)
				}
				r := requests[0]
				key := string(append(r.Output, r.Feature...))
				if gap := w.now.Sub(asked[key]); !asked[key].IsZero() && gap < hid.AskGap {
					require.Fail(t, "asked too soon", "seed %d: %v", seed, gap)
				}
				asked[key] = w.now
				questions++
				w.now = w.now.Add(time.Duration(rng.IntN(5)) * time.Millisecond)
				switch {
				case len(r.Feature) > 0:
					w.apply(hid.Event{Kind: hid.Answer, Node: r.Node, Request: r.ID, Data: []byte{0x22, truth}})
				case rng.IntN(2) == 0:
					w.apply(in("hidraw0", 2))
					w.apply(in("hidraw0", 1, truth))
				default:
					w.apply(in("hidraw0", 1, truth))
					w.apply(in("hidraw0", 2))
				}
			}
		}
		end := w.now.Add(20 * time.Second)
		for steps := 0; w.now.Before(end); steps++ {
			if steps == 1000 {
				require.Fail(t, "it loops")
			}
			answer()
			if rng.IntN(10) == 0 {
				truth = byte(rng.IntN(2))
				w.apply(in("hidraw0", 2))
				continue
			}
			due := w.tr.Due()
			if due.Before(w.now) && !due.IsZero() {
				require.Fail(t, "something was due")
			}
			w.now = w.now.Add(time.Duration(rng.IntN(300)) * time.Millisecond)
			if !due.IsZero() && due.Before(w.now) {
				w.now = due
			}
			w.tr.Expire(w.now)
		}
		require.Greater(t, questions, 50)
		w.apply(in("hidraw0", 2))
		for range 10 {
			answer()
			w.expire()
		}
		state := map[byte]string{0: "false", 1: "true"}[truth]
		require.Equal(t, "sources[0]="+state+" sources[1]="+state, w.states(), "seed %d", seed)
	}
}

// Whoever goes on from a checkpoint asks at the same time.
func TestAskOnCheckpoint(t *testing.T) {
	w := waits(t)
	due := w.tr.Due()
	w.tr = restored(t, w.tr, rulesOf(t, asking))
	require.Equal(t, due, w.tr.Due())
	w.expire()
	require.Equal(t, question, w.asked())
	w.apply(in("hidraw0", 1, 0))
	w.tr = restored(t, w.tr, rulesOf(t, asking))
	w.pass(hid.AskGap / 2)
	w.apply(in("hidraw0", 2))
	require.Equal(t, due.Add(hid.AskGap), w.tr.Due())
}

// A device says that something has changed, and then answers nothing: the old state does not outlast 2 s, however long the queue is, and
// the mute is asked for first.
func TestStaleWhileAsked(t *testing.T) {
	for _, timeout := range []string{"", ", timeout_ms: 10000"} {
		rule := func(field, report, answer string) string {
			return `
      - {field: ` + field + `, hid_query: {output: ["` + report + ` 01", "` + report + ` 02"], expect: [{byte: 0, eq: ` + answer + `}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]` + timeout + `}}`
		}
		w := newWorld(t, "\n    sources:"+rule("noise_suppression", "11", "1")+rule("echo_cancellation", "13", "3")+rule("hardware_mute", "12", "2"))
		w.happen(at("hidraw0", reports(1, 2, 3, 9)))
		require.Equal(t, "hidraw0 output 12 01", w.asked(), "the mute is asked for first")
		for range 12 {
			w.asked()
			for _, id := range []byte{1, 2, 3} {
				w.apply(in("hidraw0", id, 1))
			}
		}
		require.Equal(t, "sources[0]=true sources[1]=true sources[2]=true", w.states())
		w.happen(in("hidraw0", 9, 1))
		require.Equal(t, "hidraw0 output 12 01", w.asked())
		begin := w.now
		for w.states() != "sources[0]=unknown sources[1]=unknown sources[2]=unknown" {
			w.asked()
			w.expire()
		}
		require.LessOrEqual(t, w.now.Sub(begin), 2*time.Second)
		w.tr = restored(t, w.tr, w.tr.Rules())
		for range 20 {
			w.asked()
			if w.tr.Due().IsZero() {
				break
			}
			w.expire()
		}
		w.quiet("nobody asks for ever")
	}
}

// What makes the anchor doubtful makes its toggle doubtful.
func TestStaleAnchor(t *testing.T) {
	w := newWorld(t, toggleOf(`start: true, hid_query: {feature: "22", value: {byte: 1}, ask_on: [{byte: 0, eq: 2}]}`))
	w.happen(plugged("hidraw0", reports(1, 2)))
	require.Equal(t, "hidraw0 feature 22", w.asked())
	require.Equal(t, "sources[0]=true", w.happen(w.answer("hidraw0 feature 22", 0x22, 1)))
	w.happen(in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=true", w.states())
	require.Equal(t, "hidraw0 feature 22", w.asked())
	w.expire()
	require.Equal(t, "sources[0]=unknown", w.expire())
	w.quiet("it does not answer")
}

// Two rules whose answers are each the other one's trigger do not ask for ever: what answers a question asks none.
func TestQueriesThatTriggerEachOther(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}, {byte: 1, max: 1}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 1}]}}
      - {field: noise_suppression, hid_query: {output: ["11 02"], expect: [{byte: 0, eq: 1}, {byte: 1, min: 2}], value: {byte: 1, on: [3], off: [2]}, ask_on: [{byte: 0, eq: 1}]}}
`)
	w.happen(at("hidraw0", reports(1, 2, 9)))
	require.Equal(t, question, w.asked())
	w.happen(in("hidraw0", 1, 0))
	require.Equal(t, "hidraw0 output 11 02", w.asked())
	require.Equal(t, "sources[0]=false sources[1]=false", w.happen(in("hidraw0", 1, 2)))
	w.quiet("both have been answered")
	w.happen(in("hidraw0", 1, 1))
	require.Equal(t, question, w.asked(), "nobody has asked for this")
}
