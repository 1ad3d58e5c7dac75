package conform

import (
	"cmp"
	"time"
)

// A Progress says where a run is. Checks that are not tried do not count, as
// far as is known: what a server does may rule out others, never add any.
type Progress struct {
	Done, Total int           // checks that were tried; these and those that will be
	Check       string        // id of the check that begins
	Remaining   time.Duration // for the rest, if each request has to wait for the rate limit
}

func (r *run) progress(plan []check) Progress {
	ahead := r.ahead(plan)
	p := Progress{Done: r.tried, Total: r.tried + len(ahead)}
	for _, c := range ahead {
		p.Check = cmp.Or(p.Check, c.ID)
		p.Remaining += r.takes(c)
	}
	return p
}

// ahead returns the checks of a plan that will be tried, as far as is known.
func (r *run) ahead(plan []check) (ahead []check) {
	out := map[string]bool{}
	tokens := capacity - r.bucket(r.target.ClientID).spent // of a quick run
	payloads := r.whyNoPayloads() == ""
	for _, c := range plan {
		cost := c.cost
		if c.otherClientID {
			cost = 0
		}
		poor := !r.opts.All && cost > tokens
		if r.skipReason(c) != "" || out[c.needs] || poor || c.Group == InPayload && !payloads {
			out[c.ID] = true
			continue
		}
		tokens -= cost
		if c.takesCommands && (c.Transport != HTTP || r.opts.All) {
			payloads = true
		}
		ahead = append(ahead, c)
	}
	return ahead
}

// takes is how long a check takes, as far as is known: the wait for a token, and for an answer
// that is not expected to come.
func (r *run) takes(c check) time.Duration {
	d := c.lasts
	if c.hangs() {
		d += r.opts.Patience
	}
	t, cost := c.Transport, c.cost
	if c.Group == InPayload && r.opts.All && r.commandTransport() == HTTP {
		t, cost = HTTP, 1
	}
	if limited, known := r.limited(t); limited || !known {
		d += time.Duration(cost) * r.opts.Refill
	}
	return d
}
