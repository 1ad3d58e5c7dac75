package scenario

import (
	"slices"
	"time"

	"sidetone/fakeserver"
)

// A history is what one client was told since the beginning of the last action that was not an
// expectation.
type history struct {
	before   *fakeserver.Payload  // the last list accepted before; nil: none since the client started
	payloads []fakeserver.Payload // since then, accepted or not
	anchor   time.Time            // when that action ended
	cursor   int                  // how many payloads the expectations have passed so far
}

// reported is the last accepted list after the first n payloads.
func (h history) reported(n int) *fakeserver.Payload {
	for i := n - 1; i >= 0; i-- {
		if h.payloads[i].Err == nil {
			return &h.payloads[i]
		}
	}
	return h.before
}

// arrival is when the nth payload came, from the end of the action. It is 0 for what came
// during the action, and for what held before (n is 0).
func (h history) arrival(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return max(0, h.payloads[n-1].Time.Sub(h.anchor))
}

// countWithin is how many payloads came within a time. Payloads of several connections are in
// the order of their numbers, from which their times may differ slightly.
func (h history) countWithin(limit time.Duration) int {
	n := 0
	for i := range h.payloads {
		if h.arrival(i+1) <= limit {
			n++
		}
	}
	return n
}

// A conditionHistory says whether a condition held after each number of payloads, from 0.
type conditionHistory []bool

func (h history) conditionHistory(c condition) conditionHistory {
	held := make(conditionHistory, len(h.payloads)+1)
	held[0] = c.holds(h.before)
	for i := range h.payloads {
		held[i+1] = held[i]
		if h.payloads[i].Err == nil {
			held[i+1] = c.holds(&h.payloads[i])
		}
	}
	return held
}

// from finds the first time at or after the cursor at which the condition held, and since when
// it had held then.
func (c conditionHistory) from(cursor int) (met, since int, ok bool) {
	i := slices.Index(c[cursor:], true)
	if i < 0 {
		return 0, 0, false
	}
	met = cursor + i
	for since = met; since > 0 && c[since-1]; {
		since--
	}
	return met, since, true
}

// transitions counts how often the condition began and ceased to hold.
func (c conditionHistory) transitions() (came, went int) {
	for i := 1; i < len(c); i++ {
		switch {
		case c[i] && !c[i-1]:
			came++
		case !c[i] && c[i-1]:
			went++
		}
	}
	return came, went
}
