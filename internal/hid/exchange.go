package hid

import (
	"time"

	"sidetone/internal/devices"
)

// defaultTimeout is how long a device has for each answer.
const defaultTimeout = time.Second

// script is a conversation with a device: requests, and what to make of the answers.
type script interface {
	// request returns the next request; false: there is none, the conversation is over.
	request(step int) (Request, bool)
	// answer takes what may be the answer to a request. It is false if this is something else, and
	// unknown if it is one that tells no state.
	answer(step int, data []byte) (v devices.Tri, ok bool)
	// unasked reports whether the answer to a request arrives as any other input report does.
	unasked() bool
	timeout() time.Duration
}

// exchange is a conversation and how far it has come.
type exchange struct {
	script
	step    int
	waiting bool
	until   time.Time // while waiting
	silent  bool      // the device did not answer the last time
	stray   time.Time // until when an answer may be the one to a question that was broken off
}

// start begins anew. It returns the request to send, if there is one.
func (x *exchange) start(now time.Time) (Request, bool) {
	x.step = 0
	return x.send(now)
}

func (x *exchange) send(now time.Time) (Request, bool) {
	r, ok := x.request(x.step)
	x.waiting = ok
	if ok {
		x.until = now.Add(x.timeout())
	}
	return r, ok
}

// next goes on to the next request.
func (x *exchange) next(now time.Time) (Request, bool) {
	x.step++
	return x.send(now)
}

func milliseconds(ms int, otherwise time.Duration) time.Duration {
	if ms == 0 {
		return otherwise
	}
	return time.Duration(ms) * time.Millisecond
}

// query is the script of a hid_query.
type query struct {
	devices.HIDQuery
	node string
	desc *Descriptor // nil: not understood
}

func (q *query) request(step int) (Request, bool) {
	switch {
	case len(q.Feature) > 0 && step == 0:
		r := Request{Node: q.node, Feature: q.Feature, Length: longestFeature}
		if len(q.Feature) > 1 {
			r.Feature = padded(q.Feature, q.desc, FeatureField)
		}
		if n := lengthOf(q.Feature[0], q.desc, FeatureField); n > 0 {
			r.Length = n
		}
		return r, true
	case step < len(q.Output):
		return Request{Node: q.node, Output: padded(q.Output[step], q.desc, OutputField)}, true
	}
	return Request{}, false
}

func (q *query) answer(step int, data []byte) (devices.Tri, bool) {
	if step+1 < len(q.Output) {
		return devices.Unknown, true
	}
	if !meets(data, q.Expect) {
		return devices.Unknown, false
	}
	return valueOf(data, q.Value)
}

func (q *query) unasked() bool { return len(q.Output) > 0 }

func (q *query) timeout() time.Duration { return milliseconds(q.TimeoutMS, defaultTimeout) }

// longestFeature is how much is read of a feature report whose length nobody tells.
const longestFeature = 4096

// lengthOf is the length of a report as it travels, with its number; 0: unknown.
func lengthOf(id byte, desc *Descriptor, kind FieldKind) int {
	if desc == nil {
		return 0
	}
	n := desc.Length(kind, id)
	if n > 0 && !desc.Numbered {
		n++ // the number 0 travels with it all the same
	}
	return n
}

// padded fills a report up with zeros, as devices want it.
func padded(report []byte, desc *Descriptor, kind FieldKind) []byte {
	if n := lengthOf(report[0], desc, kind); n > len(report) {
		return append(append(make([]byte, 0, n), report...), make([]byte, n-len(report))...)
	}
	return report
}
