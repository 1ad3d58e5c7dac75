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

func expects(basis Basis, want ...string) Column { return Column{Basis: basis, Expects: want} }

func (c Column) judge(o outcome) Verdict {
	switch {
	case o.got == "":
		return NotTried
	case len(c.Expects) == 0:
		return NotSaid
	case slices.Contains(c.Expects, o.got):
		return Same
	}
	return Differs
}

type check struct {
	Check                       // without its result; a sentence has at most 36 characters
	needs         string        // id of the check that must have an answer first
	cost          int           // tokens of the server's rate limit
	otherClientID bool          // the tokens are those of another client id than the target's
	takesCommands bool          // success shows that its transport accepts commands
	all           bool          // not part of a quick run
	limit         bool          // it is about the server's rate limit
	lasts         time.Duration // apart from the wait for tokens, if that is long
	probe         probe
}

// A probe runs a check. The error is a notTried, or ends the run.
type probe func(ctx context.Context, r *run) (outcome, error)

// notTried says why a check was not tried.
type notTried string

func (n notTried) Error() string { return string(n) }

// transports are those of the groups, with the prefix of their ids and their basic check. Payloads
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

// quickCheck returns a check that is part of a quick run and costs nothing.
func quickCheck(g Group, id, sentence string, client Column, p probe) check {
	t := transports[g]
	return check{Check: Check{ID: t.prefix + id, Group: g, Transport: t.Transport, Sentence: sentence, Client: client}, probe: p}
}

// fullCheck returns a check that is not part of a quick run, costs a token, and needs
// the basic check of its group.
func fullCheck(g Group, id, sentence string, client Column, p probe) check {
	c := quickCheck(g, id, sentence, client, p).costing(1).after(transports[g].basic)
	c.all = true
	return c
}

func (c check) specified(want ...string) check {
	c.Spec = expects(Specified, want...)
	return c
}

// A change of the client, by the builds before and after it.
type change struct{ before, after string }

// The builds of the client that differ in some rules. None of another age is known.
var (
	february2026 = change{"builds until Feb 2026", "builds after Feb 2026"}
	year2024     = change{"builds of 2024", "builds since 2025"}
)

// orBuilds says what the builds before a change did instead. Both are the real client.
func (c check) orBuilds(b change, want string) check {
	c.builds = map[string]string{c.Client.Expects[0]: b.after, want: b.before}
	c.Client.Expects = append(c.Client.Expects, want)
	return c
}

// commanding marks a check whose success shows that its transport accepts commands.
func (c check) commanding() check {
	c.takesCommands = true
	return c
}

func (c check) costing(tokens int) check {
	c.cost = tokens
	return c
}

func (c check) lasting(d time.Duration) check {
	c.lasts = d
	return c
}

func (c check) after(id string) check {
	c.needs = id
	return c
}

// asOther makes it cost tokens of another client id, of which a quick run has enough.
func (c check) asOther() check {
	c.all, c.otherClientID = false, true
	return c
}

// hangs reports whether no reply is an expected outcome.
func (c check) hangs() bool { return slices.Contains(c.Client.Expects, silence) }

// checks returns all checks for the target in the order in which they run: the free
// ones, those that tell whether there is a rate limit, the rest. Those that a careless
// server may not survive come last.
func checks(t Target) []check {
	all := slices.Concat(
		freeChecks(), pipeChecks(), postChecks(), socketChecks(t),
		payloadChecks(),
		badPostChecks(), bodyChecks(), badSocketChecks(t), badPipeChecks(),
		postTokenChecks(), pipeTokenChecks(),
		invalidFrameChecks(), invalidMessageChecks(), runtimeChecks(), ipcLimitChecks(),
	)
	return slices.DeleteFunc(all, func(c check) bool {
		return t.URL == "" && (c.Group == InHTTP || c.Group == InWebSocket) || t.IPC == "" && c.Group == InIPC
	})
}
