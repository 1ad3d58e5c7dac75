package hid

import (
	"slices"
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
	// answered returns how the request of a step is answered.
	answered(step int) answered
	timeout() time.Duration
	// pause is how long to wait before a request.
	pause(step int) time.Duration
	// isBusy reports whether the device answered that it is not ready, so that the request is repeated after the pause.
	isBusy(step int, data []byte) bool
}

// answered is how a request is answered.
type answered int

const (
	notAnswered answered = iota
	byReport             // an input report arrives
	bySystem             // with an Answer: what was read, or what was set
)

// exchange is a script and its progress.
type exchange struct {
	script
	exchangeState
}

// exchangeState is what a checkpoint stores of an exchange.
type exchangeState struct {
	Step        int       `json:"step,omitempty"`   // from 0
	Until       time.Time `json:"until,omitzero"`   // when the wait for an answer ends; zero: not waiting
	PausedUntil time.Time `json:"pausing,omitzero"` // while waiting: when the request of this step will be sent; zero: it has been
	Silent      bool      `json:"silent,omitempty"` // the device did not answer the last request
}

func (x *exchange) waiting() bool { return !x.Until.IsZero() }

// goTo starts a step, and returns its request, and those of the next steps as long as none is answered. Those that are to be sent after a
// pause are not among them.
func (x *exchange) goTo(step int, now time.Time) (out []Request) {
	x.end()
	for x.Step = step; x.has(x.Step); x.Step++ {
		pause := x.pause(x.Step)
		x.Until = now.Add(pause + x.timeout())
		if pause > 0 {
			x.PausedUntil = now.Add(pause)
			return out
		}
		out = append(out, x.request(x.Step))
		if x.answered(x.Step) != notAnswered {
			return out
		}
	}
	x.end()
	return out
}

// retry schedules the request of this step again, after the pause. It returns false if there is no time left for that.
func (x *exchange) retry(now time.Time) bool {
	at := now.Add(x.pause(x.Step))
	if !at.Before(x.Until) {
		return false
	}
	x.PausedUntil = at
	return true
}

// startOver schedules the whole exchange again, because the report that was read is not of what was asked for: another program has asked
// for something else meanwhile, or the device takes its time. It returns false if nothing was sent, or if there is no time left for that.
func (x *exchange) startOver(asked, now time.Time) bool {
	q, ok := x.script.(*query)
	if !ok || !q.sends() || now.Add(q.pause(x.Step)).Sub(asked) >= q.Timeout {
		return false
	}
	x.PausedUntil = now.Add(max(q.pause(x.Step), minPause))
	x.Until = x.PausedUntil.Add(q.Timeout)
	x.Step = 0
	return true
}

// minPause is the least time between two attempts.
const minPause = 50 * time.Millisecond

// proceed returns the request of this step, whose pause is over, and what follows it as goTo does. If it is late, the timeout is extended
// by as much.
func (x *exchange) proceed(now time.Time) []Request {
	x.Until = x.Until.Add(now.Sub(x.PausedUntil))
	x.PausedUntil = time.Time{}
	out := []Request{x.request(x.Step)}
	if x.answered(x.Step) == notAnswered {
		out = append(out, x.goTo(x.Step+1, now)...)
	}
	return out
}

// repeat returns the request of this step once more, whose answer may now take as long as the first.
func (x *exchange) repeat(now time.Time) []Request {
	x.Until = now.Add(x.timeout())
	return []Request{x.request(x.Step)}
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

func (q *query) has(step int) bool { return step < len(q.Steps) }

// sends reports whether a report is sent or set.
func (q *query) sends() bool {
	return slices.ContainsFunc(q.Steps, func(s Step) bool { return len(s.Output) > 0 || len(s.Set) > 0 })
}

func (q *query) request(step int) Request {
	s, r := q.Steps[step], Request{Node: q.node}
	if s.Read != "" {
		r.Length = q.length(s.ID, s.Read)
	}
	switch {
	case len(s.Output) > 0:
		r.Output = padded(s.Output, q.desc, descriptor.Output)
	case len(s.Set) > 0:
		r.Feature = padded(s.Set, q.desc, descriptor.Feature)
	case s.Read == descriptor.Feature:
		r.Feature = []byte{s.ID}
	case s.Read == descriptor.Input:
		r.Input = []byte{s.ID}
	default:
		r.LastOutput = []byte{s.ID}
	}
	return r
}

// length returns how many bytes of a report to read.
func (q *query) length(report byte, kind descriptor.Kind) int {
	if n := lengthOf(report, q.desc, kind); n > 0 {
		return n
	}
	return maxUnknownLength
}

func (q *query) answer(step int, data []byte) (devices.Tri, bool) {
	if !meets(data, q.Steps[step].Expect) {
		return devices.Unknown, false
	}
	if q.has(step + 1) {
		return devices.Unknown, true
	}
	return q.Value.decode(data)
}

func (q *query) pause(step int) time.Duration { return q.Steps[step].Pause }

func (q *query) isBusy(step int, data []byte) bool {
	retry := q.Steps[step].RetryOn
	return len(retry) > 0 && meets(data, retry)
}

func (q *query) answered(step int) answered {
	switch s := q.Steps[step]; {
	case s.Arrives:
		return byReport
	case len(s.Output) > 0:
		return notAnswered
	default:
		return bySystem
	}
}

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
