package hid

import (
	"bytes"
	"slices"
	"time"
)

// lateAnswer is an answer that may still come, as an input report that does not tell which question it is to: the question was given up.
// Whether it will come is not known, so the list of them is a bound: at most these answers come before that to the next question.
type lateAnswer struct {
	sensor *sensor // nil: of a rule that there is no longer
	step   int
	sent   Bytes     // the request
	at     time.Time // when it was sent
	asked  time.Time // when the exchange began; zero: what the answer says is outdated
	until  time.Time // when the time that it may take has passed twice
	passed time.Time // when the device first sent, after that question, what may be a late answer: it takes questions; zero: it has not
}

// maxLate is how many late answers to one question are counted: as many may also be more.
const maxLate = 8

// attribution is what a report means to the sensor that waits for an answer.
type attribution int

const (
	attributed   attribution = iota // it says what is so
	ofAnother                       // it is outdated, or may be about something else: the question is repeated
	unattributed                    // it may be one of too many to be counted: the question is repeated when the device is done with them
)

// question returns the step of a query that a sensor asks.
func (s *sensor) question(step int) Step { return s.exchange.script.(*query).Steps[step] }

// asksTheSame reports whether a sensor asks what another one, or nil, asks: the same requests in the same order.
func (s *sensor) asksTheSame(other *sensor) bool {
	if other == nil {
		return false
	}
	steps := func(s *sensor) []Step { return s.exchange.script.(*query).Steps }
	return slices.EqualFunc(steps(s), steps(other), func(a, b Step) bool {
		return bytes.Equal(a.Output, b.Output) && bytes.Equal(a.Set, b.Set) && a.Read == b.Read && a.ID == b.ID
	})
}

func (l lateAnswer) question() Step {
	if l.sensor == nil {
		return Step{Output: l.sent} // and any report may be the answer
	}
	return l.sensor.question(l.step)
}

// mayBe reports whether a report that answers a question may be this answer instead.
func (l lateAnswer) mayBe(data []byte, question Step) bool {
	return meets(data, l.question().Expect) && !question.TellsFrom(l.question())
}

// is reports whether a report that answers nothing else is this answer.
func (l lateAnswer) is(data []byte) bool {
	return len(l.question().Expect) > 0 && meets(data, l.question().Expect)
}

// awaitsUnmarked reports whether a sensor waits for an input report that does not tell which question it answers. HID++ repeats the
// software id of the exchange, and the system tells what it has read.
func (s *sensor) awaitsUnmarked() bool {
	return s.Query != nil && s.exchange.answered(s.exchange.Step) == byReport
}

// expectLate notes that the last request of a sensor, if it has been sent, may still be answered.
func (d *trackedDevice) expectLate(s *sensor) {
	if d.asked == 0 || slices.ContainsFunc(d.requests, d.isAsked) || !s.awaitsUnmarked() {
		return
	}
	step, timeout := s.exchange.Step, s.exchange.timeout()
	l := lateAnswer{s, step, s.question(step).Sent(), s.exchange.Until.Add(-timeout), s.LastAsked, s.exchange.Until.Add(timeout), time.Time{}}
	if d.isUncounted(l) {
		i := slices.IndexFunc(d.late, l.asksTheSame)
		d.late = slices.Delete(d.late, i, i+1)
	}
	d.late = append(d.late, l)
}

func (l lateAnswer) asksTheSame(other lateAnswer) bool { return bytes.Equal(l.sent, other.sent) }

// isUncounted reports whether there may be more answers to the question of a late answer than are listed.
func (d *trackedDevice) isUncounted(l lateAnswer) bool {
	n := 0
	for _, other := range d.late {
		if l.asksTheSame(other) {
			n++
		}
	}
	return n >= maxLate
}

// dropDone drops late answers that will not come, now that the device has sent what may be one. A device that answers has woken, and takes
// its questions in order. It is done with those from before when the time that an answer may take has passed twice since, and once without
// such a report. Only the answer to the last of them may still come, with the next question.
func (d *trackedDevice) dropDone(a arrival) {
	isDone := func(l lateAnswer) bool {
		twice := l.until.Sub(l.at)
		return !l.passed.IsZero() && a.since.Sub(l.passed) >= twice && a.since.Sub(d.answered) >= twice/2
	}
	var kept []lateAnswer
	for i, l := range d.late {
		if !isDone(l) || !slices.ContainsFunc(d.late[i+1:], func(next lateAnswer) bool { return l.asksTheSame(next) && isDone(next) }) {
			kept = append(kept, l)
		}
	}
	d.late = kept
}

// noteAnswer notes that the device has sent what may be a late answer.
func (d *trackedDevice) noteAnswer(a arrival) {
	d.answered = a.at
	for i, l := range d.late {
		if l.passed.IsZero() && !l.at.After(a.since) {
			d.late[i].passed = a.at
		}
	}
}

// attribute decides which question a report answers that may be the answer a sensor waits for: the oldest one whose answer may still come,
// since a device answers in order. It returns when that question was asked.
func (d *trackedDevice) attribute(s *sensor, data []byte, a *arrival) (asked time.Time, is attribution) {
	d.dropDone(*a)
	mine, oldest := s.question(s.exchange.Step), -1
	for i, l := range d.late {
		if !l.mayBe(data, mine) {
			continue
		}
		if oldest < 0 {
			oldest = i
		}
		if l.step != s.exchange.Step || !s.asksTheSame(l.sensor) {
			is = ofAnother
		}
	}
	if oldest < 0 {
		return s.LastAsked, attributed
	}
	asked = d.late[oldest].asked
	switch {
	case d.isUncounted(d.late[oldest]):
		is = unattributed
	case asked.IsZero() || asked.Before(s.Triggered):
		is = ofAnother
		fallthrough
	default:
		d.late = slices.Delete(d.late, oldest, oldest+1)
	}
	d.expectLate(s) // now its own answer may still come
	d.noteAnswer(*a)
	a.Read = true // reports may have come since the device was asked
	return asked, is
}

// takeLate takes a report that nobody waits for as a late answer, and returns whether it may be one.
func (d *trackedDevice) takeLate(data []byte, a arrival, now time.Time) (may bool) {
	may = slices.ContainsFunc(d.late, func(l lateAnswer) bool { return now.Before(l.until) && meets(data, l.question().Expect) })
	is := func(l lateAnswer) bool { return l.is(data) }
	if !slices.ContainsFunc(d.late, is) {
		return may
	}
	d.dropDone(a)
	if i := slices.IndexFunc(d.late, is); !d.isUncounted(d.late[i]) {
		d.late = slices.Delete(d.late, i, i+1)
	}
	d.noteAnswer(a)
	return true
}

// owes returns the answers that may still come from a device that is not tracked any more: its node may be opened anew.
func (d *trackedDevice) owes(now time.Time) []lateAnswer {
	d.cancel(now)
	d.forgetRules(anySensor)
	return d.late
}

// forgetRules notes that there are no longer some rules whose answers may still come.
func (d *trackedDevice) forgetRules(dropped func(*sensor) bool) {
	for i, l := range d.late {
		if l.sensor != nil && dropped(l.sensor) {
			d.late[i].sensor, d.late[i].asked = nil, time.Time{}
		}
	}
}

// ignoreLate notes that late answers to what some sensors ask say nothing any more.
func (d *trackedDevice) ignoreLate(which func(*sensor) bool) {
	for i, l := range d.late {
		if slices.ContainsFunc(d.sensors, func(s *sensor) bool { return which(s) && s.Query != nil && s.asksTheSame(l.sensor) }) {
			d.late[i].asked = time.Time{}
		}
	}
}

// ignoreLate does the same on all devices.
func (t *Tracker) ignoreLate(which func(*sensor) bool) {
	for _, d := range t.devices {
		d.ignoreLate(which)
	}
}
