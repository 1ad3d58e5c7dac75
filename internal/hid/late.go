package hid

import (
	"bytes"
	"slices"
	"time"
)

// lateAnswer is an answer that may still come, as an input report that does not tell which question it is to: the question was given up. It
// comes within twice the time that it may take, or else with the next question.
type lateAnswer struct {
	sensor *sensor // nil: of a rule that there is no longer
	step   int
	sent   Bytes     // the request
	asked  time.Time // when the exchange began; zero: what the answer says is outdated
	until  time.Time // when the time that it may take has passed twice
}

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
func (d *trackedDevice) expectLate(s *sensor, now time.Time) {
	if d.asked == 0 || slices.ContainsFunc(d.requests, d.isAsked) || !s.awaitsUnmarked() {
		return
	}
	d.dropOverdue(s, now)
	sent := s.question(s.exchange.Step).Sent()
	d.late = append(d.late, lateAnswer{s, s.exchange.Step, sent, s.LastAsked, s.exchange.Until.Add(s.exchange.timeout())})
}

// dropOverdue drops those answers to what a sensor asks now that are overdue, except the last one, which may come with the next question.
func (d *trackedDevice) dropOverdue(s *sensor, now time.Time) {
	sent := s.question(s.exchange.Step).Sent()
	isOverdue := func(l lateAnswer) bool { return bytes.Equal(l.sent, sent) && !now.Before(l.until) }
	overdue := 0
	for _, l := range d.late {
		if isOverdue(l) {
			overdue++
		}
	}
	d.late = slices.DeleteFunc(d.late, func(l lateAnswer) bool {
		if isOverdue(l) {
			overdue--
			return overdue > 0
		}
		return false
	})
}

// attribute decides which question a report answers that may be the answer a sensor waits for: the oldest one whose answer may still come,
// since a device answers in order. It returns when that question was asked, and false if what it says is outdated or may be about
// something else.
func (d *trackedDevice) attribute(s *sensor, data []byte, a *arrival, now time.Time) (asked time.Time, ok bool) {
	mine, oldest := s.question(s.exchange.Step), -1
	ok = true
	for i, l := range d.late {
		if !l.mayBe(data, mine) {
			continue
		}
		if oldest < 0 {
			oldest = i
		}
		ok = ok && l.step == s.exchange.Step && s.asksTheSame(l.sensor)
	}
	if oldest < 0 {
		return s.LastAsked, true
	}
	asked = d.late[oldest].asked
	d.late = slices.Delete(d.late, oldest, oldest+1)
	d.expectLate(s, now) // now its own answer may still come
	a.Read = true        // reports may have come since the device was asked
	return asked, ok && !asked.IsZero() && !asked.Before(s.Triggered)
}

// takeLate takes a report that nobody waits for as a late answer, and returns whether it may be one.
func (d *trackedDevice) takeLate(data []byte, now time.Time) (may bool) {
	may = slices.ContainsFunc(d.late, func(l lateAnswer) bool { return now.Before(l.until) && meets(data, l.question().Expect) })
	i := slices.IndexFunc(d.late, func(l lateAnswer) bool { return l.is(data) })
	if i >= 0 {
		d.late = slices.Delete(d.late, i, i+1)
	}
	return may || i >= 0
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
