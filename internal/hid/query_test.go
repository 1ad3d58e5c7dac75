package hid_test

import (
	"testing"
	"time"

	"sidetone/internal/hid"

	"github.com/stretchr/testify/require"
)

const queries = `
    sources:
      - {field: hardware_mute, hid_query: {feature: "21", expect: [{byte: 0, eq: 0x21}], value: {byte: 1, on: [1], off: [0]}, timeout_ms: 300, ask_on: [{byte: 0, eq: 9}]}}
      - {field: noise_suppression, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}], value: {byte: 1}, at: [attach], ask_on: [{byte: 0, eq: 9}]}}
      - {field: echo_cancellation, hid_query: {output: ["12 01", "12 02"], expect: [{byte: 0, eq: 2}], value: {byte: 1}, at: [attach, resume], ask_on: [{byte: 0, eq: 9}]}}
`

const silence = "the device did not answer the request of this rule"

func TestOneConversationAfterTheOther(t *testing.T) {
	w := newWorld(t, queries)
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(at("hidraw0", reports(1, 2))))
	require.Equal(t, "hidraw0 feature 21", w.asked())
	require.Equal(t, w.now.Add(300*time.Millisecond), w.tr.Due())
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(in("hidraw0", 1, 1), in("hidraw0", 2, 1)), "nobody has asked for these yet")
	require.Empty(t, w.asked())
	require.Equal(t, "sources[0]=true sources[1]=unknown sources[2]=unknown", w.happen(w.answer("hidraw0 feature 21", 0x21, 1)))
	require.Equal(t, "hidraw0 output 11 01", w.asked())
	require.Equal(t, w.now.Add(time.Second), w.tr.Due())
	require.Equal(t, "sources[0]=true sources[1]=true sources[2]=unknown", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "hidraw0 output 12 01", w.asked())
	w.happen(in("hidraw0", 2, 1))
	require.Equal(t, "hidraw0 output 12 02", w.asked())
	require.Equal(t, "sources[0]=true sources[1]=true sources[2]=true", w.happen(in("hidraw0", 2, 1)))
	require.Empty(t, w.asked())
	require.True(t, w.tr.Due().IsZero())

	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.resume())
	require.Equal(t, "hidraw0 feature 21", w.asked())
	w.happen(w.answer("hidraw0 feature 21", 0x21, 0))
	require.Equal(t, "hidraw0 output 12 01", w.asked(), "the other one asks only at attach")
}

func TestQueryWithoutAnAnswer(t *testing.T) {
	for name, c := range map[string]func(w *world){
		"none":                  func(w *world) { w.expire() },
		"it fails":              func(w *world) { w.happen(w.answer("hidraw0 feature 21")) },
		"it is something else":  func(w *world) { w.happen(w.answer("hidraw0 feature 21", 0x20, 1)) },
		"it is too short":       func(w *world) { w.happen(w.answer("hidraw0 feature 21", 0x21)) },
		"other ones before":     func(w *world) { w.happen(in("hidraw0", 0x21, 1)); w.expire() },
		"it was not of this id": func(w *world) { e := w.answer("hidraw0 feature 21", 0x21, 1); e.Request++; w.happen(e); w.expire() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, queries)
			w.happen(at("hidraw0", reports(1, 2)))
			require.Empty(t, w.note("sources[0]"))
			require.Equal(t, "hidraw0 feature 21", w.asked())
			c(w)
			require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.states())
			require.Equal(t, silence, w.note("sources[0]"))
			require.Equal(t, "hidraw0 output 11 01", w.asked(), "the next one's turn")
			require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(w.answer("hidraw0 feature 21", 0x21, 1)), "too late")
		})
	}
	w := newWorld(t, queries)
	w.happen(at("hidraw0", reports(1, 2)))
	w.asked()
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(w.answer("hidraw0 feature 21", 0x21, 7)))
	require.Empty(t, w.note("sources[0]"), "it has answered, though with a value that means nothing")
	for range 3 { // 11 01, 12 01, 12 02
		w.expire()
	}
	require.Equal(t, silence, w.note("sources[2]"))
	require.True(t, w.tr.Due().IsZero(), "nobody asks for ever")
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown", w.happen(lost("hidraw0")))
	require.Contains(t, w.asked(), "hidraw0 feature 21")
	require.Equal(t, "sources[0]=true sources[1]=unknown sources[2]=unknown", w.happen(w.answer("hidraw0 feature 21", 0x21, 1)))
}

func TestAnswerOfAnOlderConversation(t *testing.T) {
	w := newWorld(t, queries)
	w.happen(at("hidraw0", reports(1, 2)))
	w.asked()
	older := w.answer("hidraw0 feature 21", 0x21, 1)
	w.resume()
	require.Equal(t, "hidraw0 feature 21", w.asked())
	require.Contains(t, w.happen(older), "sources[0]=unknown")
	require.Contains(t, w.happen(w.answer("hidraw0 feature 21", 0x21, 0)), "sources[0]=false")
}

// What has not gone out yet goes out once, however often it is asked.
func TestRequestsDoNotPileUp(t *testing.T) {
	w := newWorld(t, queries)
	w.happen(at("hidraw0", reports(1, 2)))
	for range 100 {
		w.happen(lost("hidraw0"))
		w.resume()
	}
	require.Equal(t, "hidraw0 feature 21", w.asked())
	w.happen(gone("hidraw0"))
	require.Empty(t, w.asked())
}

// What could not be set is not read: it would be the answer to something else.
func TestFailedSet(t *testing.T) {
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_query: {feature: "22 01", delay_ms: 30, value: {byte: 1}, ask_on: [{byte: 0, eq: 9}]}}]
`)
	w.happen(at("hidraw0", reports(1, 2)))
	ask := w.asked()
	require.Equal(t, "hidraw0 feature 22 01", ask)
	w.happen(hid.Event{Kind: hid.Answer, Node: "hidraw0", Request: w.ids[ask], Error: "broken pipe"})
	require.True(t, w.tr.Due().IsZero())
	require.Contains(t, w.note("sources[0]"), "did not answer")
}

// What another program has set meanwhile is not read as the answer: the report is set and read again until it is of what was set.
func TestAnotherProgramSetsSomethingElse(t *testing.T) {
	const set, get = "hidraw0 feature 22 01 00", "hidraw0 feature 22"
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_query: {feature: "22 01", delay_ms: 30, expect: [{byte: 1, eq: 1}], value: {byte: 2, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}]
`)
	w.apply(at("hidraw0", []byte{ // input report 9 of one byte, feature report 22 of two
		0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x85, 9, 0x95, 1, 0x09, 0x02, 0x81, 0x02,
		0x85, 0x22, 0x95, 2, 0x09, 0x04, 0xb1, 0x02, 0xc0,
	}))
	ask := func(answer ...byte) string {
		require.Equal(t, set, w.asked())
		w.apply(w.answer(set, 0x22, 1))
		w.expire()
		require.Equal(t, get, w.asked())
		w.apply(w.answer(get, answer...))
		return w.states()
	}
	require.Equal(t, "sources[0]=unknown", ask(0x22, 2, 1), "of another property")
	w.tr = restored(t, w.tr, w.tr.Rules())
	w.expire()
	require.Equal(t, "sources[0]=false", ask(0x22, 1, 0))
	w.quiet("answered")
	w.happen(in("hidraw0", 9, 1))
	tries := 0
	for ; w.states() == "sources[0]=false"; tries++ {
		ask(0x22, 2, 1)
		if !w.tr.Due().IsZero() {
			w.expire()
		}
	}
	require.Equal(t, "sources[0]=unknown", w.states())
	w.quiet("it gives up")
	require.Less(t, tries, 20)
}

// Steps whose requests nothing answers go out together. Waiting for the device, a failure and a cancellation are those of each step.
func TestSteps(t *testing.T) {
	const (
		greet, ask, read = "hidraw0 output 11 01", "hidraw0 output 12 05", "hidraw0 feature 21"
		set              = "hidraw0 feature 22 07"
		unknown          = "sources[0]=unknown"
	)
	world := func(steps string) *world {
		w := newWorld(t, `
    sources: [{field: hardware_mute, hid_query: {steps: [`+steps+`], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}]
`)
		w.happen(at("hidraw0", reports(1, 2)))
		return w
	}
	t.Run("an output that a feature report answers", func(t *testing.T) {
		w := world(`{output: "11 01"}, {output: "12 05"}, {read_feature: "21", retry_on: [{byte: 1, eq: 7}], pause_ms: 20}`)
		require.Equal(t, greet+", "+ask, w.asked())
		require.Equal(t, unknown, w.happen(in("hidraw0", 0x21, 1)), "nothing is waited for during a pause")
		w.expire()
		require.Equal(t, read, w.asked())
		w.apply(w.answer(read, 0x21, 7))
		w.expire()
		require.Equal(t, read, w.asked(), "it was not ready: only this step is repeated")
		w.apply(w.answer(read, 0x21, 1))
		require.Equal(t, "sources[0]=true", w.states())
	})
	t.Run("a device that is not ready", func(t *testing.T) {
		w := world(`{output: "12 05", expect: [{byte: 0, eq: 2}, {byte: 1, in: [0, 1]}], retry_on: [{byte: 0, eq: 2}, {byte: 1, eq: 7}], pause_ms: 400}`)
		require.Empty(t, w.asked())
		w.expire()
		require.Equal(t, ask, w.asked())
		w.apply(in("hidraw0", 2, 7))
		w.expire()
		require.Equal(t, ask, w.asked())
		w.apply(in("hidraw0", 2, 1))
		require.Equal(t, "sources[0]=true", w.states())
		require.True(t, w.tr.Due().IsZero())

		w.happen(in("hidraw0", 9, 0))
		for w.expire(); w.asked() == ask; w.expire() {
			w.apply(in("hidraw0", 2, 7))
		}
		require.Equal(t, unknown, w.states(), "not within its time")
	})
	t.Run("what cannot be set is not answered", func(t *testing.T) {
		w := world(`{set_feature: "22 07"}, {output: "11 01", expect: [{byte: 0, eq: 1}]}`)
		require.Equal(t, set, w.asked())
		w.apply(w.answer(set))
		require.Empty(t, w.asked())
		w.happen(in("hidraw0", 9, 0))
		require.Equal(t, set, w.asked())
		w.apply(w.answer(set, 0x22, 7))
		require.Equal(t, greet, w.asked())
		require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	})
	t.Run("a report that answers what was set", func(t *testing.T) {
		w := world(`{set_feature: "22 07", expect: [{byte: 0, eq: 2}]}, {output: "11 01", expect: [{byte: 0, eq: 1}]}`)
		require.Equal(t, set, w.asked())
		w.apply(w.answer(set))
		require.Empty(t, w.asked(), "it was not set")
		w.happen(in("hidraw0", 9, 0))
		require.Equal(t, set, w.asked())
		w.happen(in("hidraw0", 2, 0))
		require.Equal(t, greet, w.asked())
		require.Equal(t, unknown, w.happen(w.answer(set, 0x22, 7)))
		require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	})
	t.Run("cancelled before any was sent", func(t *testing.T) {
		w := newWorld(t, `
    sources: [{field: hardware_mute, hid_query: {steps: [{output: "11 01"}, {read_feature: "21"}], value: {byte: 1}, poll_ms: 2000}}]
`)
		w.happen(at("hidraw0", reports(1)), lost("hidraw0"))
		require.Equal(t, greet+", "+read, w.asked(), "once")
	})
}
