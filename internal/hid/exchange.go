package hid

import (
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid/descriptor"
)

// script defines a sequence of requests to a device, and how to read the answers.
type script interface {
	// has reports whether there is a step; if not, the exchange is over.
	has(step int) bool
	// request returns the request of a step.
	request(step int) Request
	// answer decodes data if it is the answer to the request of a step, else it returns false. An answer
	// without a state is Unknown.
	answer(step int, data []byte) (v devices.Tri, ok bool)
	// answeredByReport reports whether answers arrive as input reports.
	answeredByReport() bool
	// fits reports whether data could be the answer to an earlier request. An answer that tells whose it is does not.
	fits(data []byte) bool
	timeout() time.Duration
	// pause is how long to wait before a request.
	pause(step int) time.Duration
	// isBusy reports whether the device answered that it is not ready, so that the request is repeated after the pause.
	isBusy(step int, data []byte) bool
}

// exchange is a script and its progress.
type exchange struct {
	script
	exchangeState
}

// exchangeState is what a checkpoint stores of an exchange.
type exchangeState struct {
	Step            int       `json:"step,omitempty"`   // from 0
	Until           time.Time `json:"until,omitzero"`   // when the wait for an answer ends; zero: not waiting
	PausedUntil     time.Time `json:"pausing,omitzero"` // while waiting: when the request of this step will be sent; zero: it has been
	Silent          bool      `json:"silent,omitempty"` // the device did not answer the last request
	LateAnswerUntil time.Time `json:"stray,omitzero"`   // until when an answer may be to a request that is no longer waited for
}

func (x *exchange) waiting() bool { return !x.Until.IsZero() }

// goTo starts a step, and returns its request if there is one and it is not to be sent after a pause.
func (x *exchange) goTo(step int, now time.Time) (Request, bool) {
	x.Step = step
	x.end()
	if !x.has(step) {
		return Request{}, false
	}
	pause := x.pause(step)
	x.Until = now.Add(pause + x.timeout())
	if pause > 0 {
		x.PausedUntil = now.Add(pause)
		return Request{}, false
	}
	return x.request(step), true
}

// retry schedules the request of this step again, after the pause. It returns false if there is no time left for that.
func (x *exchange) retry(now time.Time) bool {
	x.PausedUntil = now.Add(x.pause(x.Step))
	return x.PausedUntil.Before(x.Until)
}

// startOver schedules the whole exchange again, because the report that was read is not of what was set: another program has set something
// else meanwhile, or the device takes its time. It returns false if nothing was set, or if there is no time left for that.
func (x *exchange) startOver(asked, now time.Time) bool {
	q, ok := x.script.(*query)
	if !ok || len(q.Feature) < 2 || q.sets(x.Step) || now.Add(q.Delay).Sub(asked) >= q.Timeout {
		return false
	}
	x.Step, x.PausedUntil = 0, now.Add(max(q.Delay, minPause))
	x.Until = x.PausedUntil.Add(q.Timeout)
	return true
}

// minPause is the least time between two attempts.
const minPause = 50 * time.Millisecond

// proceed returns the request of this step, whose pause is over. If it is late, the timeout is extended by as much.
func (x *exchange) proceed(now time.Time) Request {
	x.Until = x.Until.Add(now.Sub(x.PausedUntil))
	x.PausedUntil = time.Time{}
	return x.request(x.Step)
}

// giveUp notes that the last request, which has been sent, may still be answered, for as long as it takes at most.
func (x *exchange) giveUp(now time.Time) {
	if !x.has(x.Step + 1) {
		x.LateAnswerUntil = now.Add(x.timeout())
	}
}

// end ends the wait for an answer, and so the exchange.
func (x *exchange) end() { x.Until, x.PausedUntil = time.Time{}, time.Time{} }

// due returns when to act next, while waiting.
func (x *exchange) due() time.Time {
	if !x.PausedUntil.IsZero() {
		return x.PausedUntil
	}
	return x.Until
}

// query is the script of a hid_query.
type query struct {
	Query
	node string
	desc *descriptor.Descriptor // nil: not understood
}

// sets reports whether a step sets a feature report that a later step reads.
func (q *query) sets(step int) bool { return step == 0 && len(q.Feature) > 1 && q.Delay != 0 }

func (q *query) has(step int) bool {
	if q.sets(0) {
		return step < 2
	}
	return step < max(1, len(q.Output))
}

func (q *query) request(step int) Request {
	switch {
	case q.sets(step):
		return Request{Node: q.node, Feature: padded(q.Feature, q.desc, descriptor.Feature)}
	case q.sets(0):
		return Request{Node: q.node, Feature: q.Feature[:1], Length: q.length(q.Feature, descriptor.Feature)}
	case len(q.Feature) > 0:
		r := Request{Node: q.node, Feature: q.Feature, Length: q.length(q.Feature, descriptor.Feature)}
		if len(q.Feature) > 1 {
			r.Feature = padded(q.Feature, q.desc, descriptor.Feature)
		}
		return r
	case len(q.Input) > 0:
		return Request{Node: q.node, Input: q.Input, Length: q.length(q.Input, descriptor.Input)}
	case len(q.LastOutput) > 0:
		return Request{Node: q.node, LastOutput: q.LastOutput, Length: q.length(q.LastOutput, descriptor.Output)}
	}
	return Request{Node: q.node, Output: padded(q.Output[step], q.desc, descriptor.Output)}
}

// length returns how many bytes of a report to read.
func (q *query) length(report []byte, kind descriptor.Kind) int {
	if n := lengthOf(report[0], q.desc, kind); n > 0 {
		return n
	}
	return maxUnknownLength
}

func (q *query) answer(step int, data []byte) (devices.Tri, bool) {
	if step+1 < len(q.Output) || q.sets(step) {
		return devices.Unknown, true
	}
	if !meets(data, q.Expect) {
		return devices.Unknown, false
	}
	return q.Value.decode(data)
}

func (q *query) pause(step int) time.Duration {
	if q.sets(step) {
		return 0
	}
	return q.Delay
}

func (q *query) isBusy(step int, data []byte) bool {
	return !q.sets(step) && len(q.RetryOn) > 0 && meets(data, q.RetryOn)
}

func (q *query) answeredByReport() bool { return len(q.Output) > 0 }

func (q *query) fits(data []byte) bool { return q.answeredByReport() && meets(data, q.Expect) }

func (q *query) timeout() time.Duration { return q.Timeout }

// maxUnknownLength is how many bytes to read of a report of unknown length.
const maxUnknownLength = 4096

// lengthOf returns the length of a report as hidraw transfers it, including its number; 0: unknown.
func lengthOf(id byte, desc *descriptor.Descriptor, kind descriptor.Kind) int {
	if desc == nil {
		return 0
	}
	n := desc.Length(kind, id)
	if n > 0 && !desc.Numbered {
		n++ // for the number 0, which is transferred, too
	}
	return n
}

// padded pads a report with zeros to the declared length, which devices require.
func padded(report []byte, desc *descriptor.Descriptor, kind descriptor.Kind) []byte {
	if n := lengthOf(report[0], desc, kind); n > len(report) {
		return append(append(make([]byte, 0, n), report...), make([]byte, n-len(report))...)
	}
	return report
}
