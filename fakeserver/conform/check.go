package conform

import (
	"context"
	"slices"
	"time"
)

// A Transport is a way to talk to the server.
type Transport string

// The transports.
const (
	HTTP      Transport = "http"
	WebSocket Transport = "websocket"
	IPC       Transport = "ipc"
)

// A Basis says what an expectation rests on.
type Basis string

// The bases. All but the first are about the real client.
const (
	Specified Basis = "spec"  // the written specification says so
	Ran       Basis = "ran"   // seen by running the client's own modules
	Read      Basis = "code"  // read in several builds of the client
	Inferred  Basis = "infer" // follows from what was read
)

// anyClose expects the connection to end, with whatever code.
const anyClose = "any close"

// An expectation is what one of the two models says of a check. The zero
// value says nothing.
type expectation struct {
	basis Basis
	want  []string // one of these outcomes
}

func says(basis Basis, want ...string) expectation { return expectation{basis, want} }

func (e expectation) verdict(o outcome) Verdict {
	switch {
	case o.got == "":
		return NotTried
	case len(e.want) == 0:
		return NotSaid
	case slices.Contains(e.want, o.got), slices.Contains(e.want, anyClose) && (o.got == hungUp || hasCode(o.got)):
		return Same
	}
	return Differs
}

// A check is one question to the server.
type check struct {
	id       string
	group    Group
	sentence string // at most 36 characters
	spec     expectation
	client   expectation
	needs    string        // id of the check without whose answer this one means nothing
	cost     int           // tokens of the server's rate limit
	stranger bool          // they are those of another client id than the target's
	carries  bool          // success shows that its transport takes commands
	all      bool          // not part of a quick run
	limit    bool          // it is about the server's rate limit
	lasts    time.Duration // besides the wait for tokens, where that is long
	probe    func(ctx context.Context, r *run) (outcome, error)
}

// hangs reports whether no reply is an expected outcome.
func (c check) hangs() bool {
	return slices.Contains(c.client.want, silence)
}

// checks are all checks for the target, in the order in which they are run:
// what is free, what tells whether there is a rate limit, the rest. What a
// careless server may not survive comes last.
func checks(t Target) []check {
	var all []check
	if t.URL != "" {
		all = append(all, freeChecks()...)
	}
	if t.IPC != "" {
		all = append(all, pipeChecks()...)
	}
	if t.URL != "" {
		all = append(all, postChecks()...)
		all = append(all, socketChecks(t)...)
	}
	all = append(all, payloadChecks()...)
	if t.URL != "" {
		all = append(all, badPostChecks()...)
		all = append(all, bodyChecks()...)
		all = append(all, badSocketChecks(t)...)
	}
	if t.IPC != "" {
		all = append(all, badPipeChecks()...)
	}
	if t.URL != "" {
		all = append(all, postTokenChecks()...)
	}
	if t.IPC != "" {
		all = append(all, pipeTokenChecks()...)
		all = append(all, roughPipeChecks()...)
	}
	if t.URL != "" {
		all = append(all, roughSocketChecks()...)
	}
	if t.IPC != "" {
		all = append(all, crowdChecks()...)
	}
	return all
}
