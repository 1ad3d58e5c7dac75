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

// An expectation is what one of the two models says of a check. The zero
// value says nothing.
type expectation struct {
	basis Basis
	want  []string // one of these outcomes
}

func expects(basis Basis, want ...string) expectation { return expectation{basis, want} }

func (e expectation) verdict(o outcome) Verdict {
	switch {
	case o.got == "":
		return NotTried
	case len(e.want) == 0:
		return NotSaid
	case slices.Contains(e.want, o.got):
		return Same
	}
	return Differs
}

// A check is one question to the server.
type check struct {
	id            string
	group         Group
	sentence      string // at most 36 characters
	spec          expectation
	client        expectation
	needs         string        // id of the check without whose answer this one means nothing
	cost          int           // tokens of the server's rate limit
	otherClientID bool          // they are those of another client id than the target's
	takesCommands bool          // success shows that its transport takes commands
	all           bool          // not part of a quick run
	limit         bool          // it is about the server's rate limit
	lasts         time.Duration // besides the wait for tokens, where that is long
	probe         probe
}

// A probe asks the question. The error is a notTried, or ends the run.
type probe func(ctx context.Context, r *run) (outcome, error)

// notTried is why a check was not tried.
type notTried string

func (n notTried) Error() string { return string(n) }

// transports are those of the groups, with the prefix of their ids and their basic check. A payload
// may go over any.
var transports = map[Group]struct {
	Transport
	prefix, basic string
}{
	InHTTP:      {HTTP, "http-", "http-empty-list"},
	InWebSocket: {WebSocket, "ws-", "ws-no-origin"},
	InIPC:       {IPC, "ipc-", "ipc-handshake"},
	InPayload:   {"", "payload-", ""},
}

func (c check) transport() Transport { return transports[c.group].Transport }

// quickCheck is a check that is part of a quick run, and that costs nothing.
func quickCheck(g Group, id, sentence string, client expectation, p probe) check {
	return check{id: transports[g].prefix + id, group: g, sentence: sentence, client: client, probe: p}
}

// fullCheck is a check that is not part of a quick run, that costs a token, and that
// needs the basic check of its group.
func fullCheck(g Group, id, sentence string, client expectation, p probe) check {
	c := quickCheck(g, id, sentence, client, p).costing(1).after(transports[g].basic)
	c.all = true
	return c
}

// specified is the check with what the specification says of it.
func (c check) specified(want ...string) check {
	c.spec = expects(Specified, want...)
	return c
}

// commanding is the check as one whose success shows that its transport takes commands.
func (c check) commanding() check {
	c.takesCommands = true
	return c
}

// costing is the check at another cost, in tokens.
func (c check) costing(tokens int) check {
	c.cost = tokens
	return c
}

// lasting is the check with a time that it takes besides the wait for tokens.
func (c check) lasting(d time.Duration) check {
	c.lasts = d
	return c
}

// after is the check with another one that it needs.
func (c check) after(id string) check {
	c.needs = id
	return c
}

// asOther is the check at the cost of tokens of another client id, of which a quick run has enough.
func (c check) asOther() check {
	c.all, c.otherClientID = false, true
	return c
}

// hangs reports whether no reply is an expected outcome.
func (c check) hangs() bool {
	return slices.Contains(c.client.want, silence)
}

// checks are all checks for the target, in the order in which they are run:
// what is free, what tells whether there is a rate limit, the rest. What a
// careless server may not survive comes last.
func checks(t Target) []check {
	all := slices.Concat(
		freeChecks(), pipeChecks(), postChecks(), socketChecks(t),
		payloadChecks(),
		badPostChecks(), bodyChecks(), badSocketChecks(t), badPipeChecks(),
		postTokenChecks(), pipeTokenChecks(),
		invalidFrameChecks(), invalidMessageChecks(), ipcLimitChecks(),
	)
	return slices.DeleteFunc(all, func(c check) bool {
		return t.URL == "" && (c.group == InHTTP || c.group == InWebSocket) || t.IPC == "" && c.group == InIPC
	})
}
