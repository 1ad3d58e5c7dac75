package hid_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
)

const sleepy = `
    sources:
      - {field: hardware_mute, hid_query: {output: ["12 01"], expect: [{byte: 0, eq: 2}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}
`

// The answer to each question comes while the next one is under way: no answer says which question it is to.
func TestAnswersThatComeOneQuestionLate(t *testing.T) {
	w := newWorld(t, sleepy)
	say := func(wait time.Duration, b ...byte) {
		w.now = w.now.Add(wait)
		w.apply(in("hidraw0", b...))
		w.asked()
	}
	w.happen(at("hidraw0", reports(1, 2)))
	w.asked()
	w.expire() // the headset is asleep
	say(100*time.Millisecond, 9, 0)
	say(100*time.Millisecond, 2, 1) // to the first question: it may be late, and is not believed
	w.expire()
	w.asked()
	say(50*time.Millisecond, 2, 1)
	require.Equal(t, "sources[0]=unknown", w.states(), "the answer to the second question is not taken for that to the third")
}

// A headset that has slept takes three questions at once, and answers each when the next one comes.
func TestQuestionsThatWaitForTheHeadsetToWake(t *testing.T) {
	w := newWorld(t, sleepy)
	w.happen(at("hidraw0", reports(1, 2, 9)))
	for range 2 {
		w.asked()
		w.expire()
		w.apply(in("hidraw0", 9))
	}
	w.asked()
	w.expire()
	w.happen(in("hidraw0", 2, 1), in("hidraw0", 2, 1))
	w.happen(in("hidraw0", 9))
	w.asked()
	w.apply(in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=unknown", w.states(), "to the third question, not to the fourth")
	require.NotEmpty(t, w.asked())
	w.apply(in("hidraw0", 2, 0))
	require.Equal(t, "sources[0]=false", w.states())
}

// A headset that has missed questions is asked as often once more, and when it has answered and was silent, twice. One that has missed too many
// is asked when it is surely done with them.
func TestQuestionsThatAreNeverAnswered(t *testing.T) {
	for missed, want := range map[int]int{0: 1, 1: 2, 7: 8, 8: 1, 100: 1} {
		t.Run(fmt.Sprint(missed), func(t *testing.T) {
			w := newWorld(t, sleepy)
			w.apply(at("hidraw0", reports(1, 2, 9)))
			w.asked()
			w.apply(in("hidraw0", 2, 1))
			trigger := func() { w.happen(in("hidraw0", 9)) }
			for range missed {
				trigger()
				w.asked()
				w.expire()
				w.tr = restored(t, w.tr, w.tr.Rules())
			}
			answer := func(v byte) (questions int) {
				for w.asked() != "" {
					w.apply(in("hidraw0", 2, v))
					questions++
				}
				return questions
			}
			trigger()
			if missed >= 8 {
				require.Equal(t, 1, answer(1))
				require.Equal(t, "sources[0]=unknown", w.states())
				w.expire()
			}
			require.Equal(t, want, answer(1))
			require.Equal(t, "sources[0]=true", w.states())
			w.quiet("answered")
			for _, v := range []byte{0, 1, 0} {
				w.pass(3 * time.Second)
				trigger()
				require.LessOrEqual(t, answer(v), max(want, 2))
			}
			w.pass(3 * time.Second)
			trigger()
			require.Equal(t, min(missed+1, 2), answer(0))
			require.Equal(t, "sources[0]=false", w.states())
		})
	}
}

// lagging is a headset whose answers say what was so when the question came.
type lagging struct {
	*world
	state  byte
	after  time.Duration // how late it answers; 0: at once
	behind bool          // it answers each question when the next one comes
	deaf   bool          // no question arrives
	open   []answerAt    // to come
}

type answerAt struct {
	data []byte
	at   time.Time // unless it is behind
}

// take has the headset take the agent's questions.
func (l *lagging) take() {
	for requests := l.tr.Requests(); len(requests) > 0; requests = l.tr.Requests() {
		for range requests {
			if l.deaf {
				continue
			}
			l.open = append(l.open, answerAt{[]byte{2, l.state}, l.now.Add(l.after)})
			if l.behind && len(l.open) > 1 || !l.behind && l.after == 0 {
				l.answer()
			}
		}
	}
}

func (l *lagging) answer() {
	a := l.open[0]
	l.open = l.open[1:]
	l.apply(in("hidraw0", a.data...))
}

// until lets time pass.
func (l *lagging) until(end time.Time) {
	for {
		l.take()
		next, answers := end, !l.behind && len(l.open) > 0
		if due := l.tr.Due(); !due.IsZero() && due.Before(next) {
			next = due
		}
		if answers && l.open[0].at.Before(next) {
			next = l.open[0].at
		}
		if next.Equal(end) {
			l.now = end
			return
		}
		l.now = next
		if answers && !next.Before(l.open[0].at) {
			l.answer()
		}
		l.tr.Expire(l.now)
	}
}

// However late a headset answers, what is known of it two seconds after a change is so. If it answers at all within the time that it has, or
// always one question late, it is known.
func TestLateAnswersAreNotTakenForOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lagging
		known bool
	}{
		"in time":           {lagging{}, true},
		"slowly":            {lagging{after: 900 * time.Millisecond}, true},
		"one question late": {lagging{behind: true}, true},
		"after the time":    {lagging{after: 1200 * time.Millisecond}, false},
		"much later":        {lagging{after: 1900 * time.Millisecond}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rules, others := rulesOf(t, sleepy), rulesOf(t, strings.Replace(sleepy, "hid_query: {", "hid_query: {interface: 3, ", 1))
			for seed := range uint64(200) {
				rng := rand.New(rand.NewPCG(seed, 0))
				l := c.lagging
				l.world = worldOf(t, rules)
				l.apply(at("hidraw0", reports(1, 2, 9)))
				var changed time.Time
				for range 10 {
					l.deaf = rng.IntN(4) == 0
					l.until(l.now.Add(time.Duration(rng.IntN(4000)+1) * time.Millisecond))
					want := fmt.Sprintf("sources[0]=%v", l.state == 1)
					if l.now.Sub(changed) > 2*time.Second && l.states() != "sources[0]=unknown" {
						require.Equal(t, want, l.states(), "seed %d", seed)
					}
					l.deaf = false
					if rng.IntN(3) > 0 {
						l.state, changed = l.state^1, l.now
						l.apply(in("hidraw0", 9, 0))
					}
					switch rng.IntN(10) {
					case 0, 1:
						l.apply(lost("hidraw0"))
					case 2:
						l.tr.Configure([]*hid.Rules{rules, others}[rng.IntN(2)], l.now)
					case 3:
						l.tr = restored(t, l.tr, l.tr.Rules())
					}
				}
				l.until(l.now.Add(8 * time.Second))
				l.apply(in("hidraw0", 9, 0))
				l.until(l.now.Add(8 * time.Second))
				want := fmt.Sprintf("sources[0]=%v", l.state == 1)
				if c.known || l.states() != "sources[0]=unknown" {
					require.Equal(t, want, l.states(), "seed %d", seed)
				}
			}
		})
	}
}

// An answer to an earlier step is not taken for that to the last one, which has the state.
func TestLateAnswerOfAnEarlierStep(t *testing.T) {
	for name, steps := range map[string]string{
		"output": `output: ["11 01", "11 02"], expect: [{byte: 0, eq: 2}]`,
		"steps":  `steps: [{output: "11 01", expect: [{byte: 0, eq: 2}]}, {output: "11 02", expect: [{byte: 0, eq: 2}]}]`,
		"set":    `steps: [{set_feature: "21 01", expect: [{byte: 0, eq: 2}]}, {output: "11 02", expect: [{byte: 0, eq: 2}]}]`,
	} {
		t.Run(name, func(t *testing.T) {
			const second = "hidraw0 output 11 02"
			w := newWorld(t, "\n    sources: [{field: hardware_mute, hid_query: {"+steps+", value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}]\n")
			w.happen(at("hidraw0", reports(1, 2, 9)))
			w.asked()
			w.expire()
			require.Equal(t, second, w.asked())
			w.tr = restored(t, w.tr, w.tr.Rules())
			w.apply(in("hidraw0", 7, 1)) // which answers nothing
			w.apply(in("hidraw0", 2, 1)) // to the first step, or to the second
			require.Equal(t, "sources[0]=unknown", w.states())
			require.Equal(t, second, w.asked(), "once more")
			w.apply(in("hidraw0", 2, 0))
			require.Equal(t, "sources[0]=false", w.states(), "to either of the last two requests")
			w.quiet("answered")
		})
	}

	// Here it can be told: the device repeats the number of the step.
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_query: {output: ["11 01", "11 02"], expect: [{byte: 0, eq: 2}, {byte: 2, eq: 2}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}]
`)
	w.happen(at("hidraw0", reports(1, 2, 9)))
	w.asked()
	w.expire()
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 2, 1, 2)))
}

// An answer that comes with the next question is not taken for that of another step, also where it is no answer to the last one.
func TestStepsThatAreAnsweredOneQuestionLate(t *testing.T) {
	w := newWorld(t, `
    sources:
      - field: hardware_mute
        hid_query:
          steps: [{output: "11 01", expect: [{byte: 0, eq: 2}]}, {output: "11 02", expect: [{byte: 0, eq: 2}]}]
          value: {byte: 1, on: [1], off: [0]}
          poll_ms: 2000
`)
	const first, last = "hidraw0 output 11 01", "hidraw0 output 11 02"
	answers := map[string]byte{first: 1, last: 0}
	w.happen(at("hidraw0", reports(1, 2)))
	owed, known := "", false
	for range 40 {
		asked := w.asked()
		switch {
		case asked == "":
			w.expire()
		case owed != "":
			w.apply(in("hidraw0", 2, answers[owed]))
			fallthrough
		default:
			owed = asked
		}
		require.NotEqual(t, "sources[0]=true", w.states())
		known = known || w.states() == "sources[0]=false"
	}
	require.True(t, known)
}

// What a node owes when it is opened anew is not taken for the answer to a question from after that.
func TestLateAnswerOfANodeThatIsOpenedAnew(t *testing.T) {
	failed := gone("hidraw0")
	failed.Error = "read: input/output error"
	attached := at("hidraw0", reports(1, 2, 9))
	for name, c := range map[string]struct {
		events []hid.Event
		want   string
	}{
		"reading has failed":            {[]hid.Event{failed, attached}, "unknown"},
		"and once more, when opened":    {[]hid.Event{failed, {Kind: hid.Denied, Node: "hidraw0", Device: attached.Device}, attached}, "unknown"},
		"more of it has been opened":    {[]hid.Event{attached}, "unknown"},
		"unplugged, and another one":    {[]hid.Event{gone("hidraw0"), plugged("hidraw0", reports(1, 2, 9))}, "true"},
		"the same, and nobody saw that": {[]hid.Event{gone("hidraw0"), attached}, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, sleepy)
			w.apply(at("hidraw0", reports(1, 2, 9)))
			w.asked()
			for _, e := range c.events {
				w.apply(e)
				w.asked()
				w.tr = restored(t, w.tr, w.tr.Rules())
			}
			w.apply(in("hidraw0", 2, 1))
			require.Equal(t, "sources[0]="+c.want, w.states())
			if w.asked() != "" {
				w.apply(in("hidraw0", 2, 0))
				require.Equal(t, "sources[0]=false", w.states())
			}
		})
	}
}

// What is read by the system is no answer to what was asked by a report, and does not settle whose the next report is.
func TestReadingDoesNotSettleALateAnswer(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_query: {output: ["12 01"], expect: [{byte: 0, eq: 2}], value: {byte: 1, on: [1], off: [0]}, ask_on: [{byte: 0, eq: 9}]}}
      - {field: noise_suppression, hid_query: {input: "02", value: {byte: 2}, ask_on: [{byte: 0, eq: 9}]}}
`)
	w.happen(at("hidraw0", reports(1, 2, 9)))
	w.asked()
	w.expire()
	const read = "hidraw0 input 02"
	require.Equal(t, read, w.asked())
	w.apply(w.answer(read, 2, 0, 1))
	require.Equal(t, "sources[0]=unknown sources[1]=true", w.states(), "the system knows what it has read")
	w.apply(in("hidraw0", 9))
	require.Contains(t, w.asked(), "hidraw0 output 12 01")
	w.apply(in("hidraw0", 2, 1, 1))
	require.Equal(t, "sources[0]=unknown sources[1]=true", w.states())
}

// A level is heard while the device is asked, or owes an answer, unless it may be that answer.
func TestLevelsHeardWhileAsked(t *testing.T) {
	w := newWorld(t, `
    sources:
      - {field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}
      - {field: hardware_mute, hid_query: {output: ["11 01"], expect: [{byte: 0, eq: 1}, {byte: 2, eq: 1}], value: {byte: 1, on: [1], off: [0]}}}
`)
	heard := func() (out []string) {
		for r := range w.tr.Heard("") {
			out = append(out, fmt.Sprintf("%s=%v %v", r.Rule, r.Value, r.Since.Sub(t0)))
		}
		return out
	}
	w.happen(at("hidraw0", reports(1)))
	w.asked()
	w.happen(in("hidraw0", 1, 1, 1))
	require.Empty(t, heard(), "it answers")
	w.resume()
	w.asked()
	w.happen(in("hidraw0", 1, 1, 0))
	require.Equal(t, []string{"sources[0]=true 4s"}, heard())
	w.expire() // no answer
	w.happen(in("hidraw0", 1, 0, 1))
	require.Empty(t, heard(), "it may be the answer")
	w.happen(in("hidraw0", 1, 0, 1))
	require.Equal(t, []string{"sources[0]=false 6s"}, heard(), "there is none to come any more")
}

// A recording of an older version says only until when a late answer was expected.
func TestLateAnswerInAnOldRecording(t *testing.T) {
	w := newWorld(t, sleepy)
	w.happen(at("hidraw0", reports(1, 2, 9)))
	w.asked()
	w.expire()
	data, err := json.Marshal(w.tr.Checkpoint(func(t time.Time) time.Time { return t }))
	require.NoError(t, err)
	before, after, ok := strings.Cut(string(data), `,"late":`)
	require.True(t, ok, before)
	_, after, ok = strings.Cut(after, "]")
	require.True(t, ok)
	old := strings.Replace(before+after, `"silent":true`, `"silent":true,"stray":"2026-01-01T12:00:03Z"`, 1)
	require.Contains(t, old, "stray")
	var c hid.Checkpoint
	require.NoError(t, json.Unmarshal([]byte(old), &c))
	rules := w.tr.Rules()
	w.tr = hid.NewTracker(rules)
	w.tr.Restore(c)
	w.apply(in("hidraw0", 9))
	require.Equal(t, "hidraw0 output 12 01", w.asked())
	w.apply(in("hidraw0", 2, 1))
	require.Equal(t, "sources[0]=unknown", w.states())
}
