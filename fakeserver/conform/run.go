package conform

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"sidetone/fakeserver/internal/host"
	"sidetone/internal/signal"
)

const (
	needsAll = "needs --all"

	maxRefused = 3 // consecutive refused connections that end a run
)

// A run runs checks against one server.
type run struct {
	target  Target
	opts    Options
	address string // host and port of the URL

	buckets      map[string]*tokenEstimate // by client id
	limits       map[Transport]bool        // whether there is a rate limit, if that was measured
	results      map[string]outcome        // by id of the check
	links        map[Transport]*link       // kept open
	readyAnswers map[Transport]answer
	origin       string // of the WebSocket link
	sent         int    // nonces used
	tried        int    // checks
	refused      int    // connections in a row
	last         string // id of the last check that reached the server

	mayHoldDevices bool // the server may hold devices of a check
}

// Run tests the server, and leaves an empty device list behind. The error says
// that the target is invalid (*[TargetError]), that there is no server or it went
// away (*[UnreachableError]), or that the context ended. The report has the
// results so far; it is nil if the server was never reached.
func Run(ctx context.Context, t Target, o Options) (*Report, error) {
	t, err := t.withDefaults(o.Dial == nil)
	if err != nil {
		return nil, err
	}
	if o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	r := &run{
		target: t, opts: o,
		buckets: map[string]*tokenEstimate{}, limits: map[Transport]bool{}, results: map[string]outcome{},
		links: map[Transport]*link{}, readyAnswers: map[Transport]answer{},
	}
	defer r.closeLinks()
	if err := r.checkReachable(ctx); err != nil {
		return nil, err
	}
	name, _ := os.Hostname() // a report can do without
	report := &Report{Target: t, All: o.All, Refill: o.Refill, Version: o.Version, Host: name, System: host.System(), Began: time.Now()}
	plan := checks(t)
	for i, c := range plan {
		if p := r.progress(plan[i:]); p.Check == c.ID && r.takes(c) > 0 {
			o.Progress(p)
		}
		var out outcome
		if out, err = r.try(ctx, c); err != nil {
			break
		}
		r.results[c.ID] = out
		report.add(c.Check, out)
	}
	for _, c := range plan[len(report.Checks):] {
		report.add(c.Check, skipped("the run broke off"))
	}
	report.Notes = r.notes(ctx)
	if mixture := report.mixture(); mixture != "" {
		report.Notes = append(report.Notes, mixture)
	}
	report.Took = time.Since(report.Began)
	return report, err
}

// checkReachable checks that the server accepts connections, which costs no token.
func (r *run) checkReachable(ctx context.Context) error {
	if r.target.URL != "" {
		r.address, _ = addressOf(r.target.URL) // withDefaults has checked it
		c, err := r.dial(ctx, networkTCP, r.address, r.opts.Patience)
		if err != nil {
			return err
		}
		_ = c.Close()
	}
	if r.target.IPC != "" {
		l, err := r.dialPipe(ctx, r.opts.Patience)
		if err != nil {
			return err
		}
		l.close()
	}
	return nil
}

// try runs one check. A check whose connection is refused was not tried; the third in a row
// ends the run.
func (r *run) try(ctx context.Context, c check) (outcome, error) {
	if why := r.skipReason(c); why != "" {
		return skipped(why), nil
	}
	o, err := c.probe(ctx, r)
	why, wasNotTried := errors.AsType[notTried](err)
	gone, isGone := errors.AsType[*UnreachableError](err)
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case wasNotTried:
		return skipped(string(why)), nil
	case isGone:
		r.refused++
		if r.refused == maxRefused {
			return o, gone
		}
		return skipped("connection refused"), nil
	}
	r.refused, r.last = 0, c.ID
	r.tried++
	return o, err
}

// skipReason says why a check is not to be tried after the results so far; "" if it is.
func (r *run) skipReason(c check) string {
	base, done := r.results[c.needs]
	limited, known := r.limited(c.Transport)
	switch {
	case c.all && !r.opts.All:
		return needsAll
	case !done:
		return ""
	case c.limit && known && !limited:
		return noLimit
	case base.skip != "":
		return base.skip
	case !base.answered():
		return "follows " + c.needs + ", which has no answer"
	case strings.HasPrefix(c.needs, "ws-") && base.got != ready && !strings.HasPrefix(base.got, "close "):
		return "follows " + c.needs + ", which fails"
	}
	return ""
}

// A pass allows one request that costs a token.
type pass struct {
	wait   time.Duration // for the answer, including the time in line
	bucket *tokenEstimate
}

func (p pass) answered(o outcome) {
	if o.answered() {
		p.bucket.answered(time.Now())
	}
}

// admit grants a pass. A quick run has two for each client id; a full run waits for a
// token, except now, if the server is known to count them. The error is a notTried, or
// the context's.
func (r *run) admit(ctx context.Context, clientID string, t Transport, now bool) (pass, error) {
	b := r.bucket(clientID)
	if !now && !r.opts.All && b.spent >= capacity {
		return pass{}, notTried(needsAll)
	}
	if limited, known := r.limited(t); !now && limited && known {
		if err := signal.Sleep(ctx, b.wait(time.Now())); err != nil {
			return pass{}, err
		}
	}
	return r.admitNow(clientID, t), nil
}

// admitNow grants a pass at once. The answer may take longer by the time until a token
// is surely there.
func (r *run) admitNow(clientID string, t Transport) pass {
	b, now := r.bucket(clientID), time.Now()
	p := pass{wait: r.opts.Patience, bucket: b}
	if limited, known := r.limited(t); limited || !known {
		p.wait += b.wait(now)
	}
	b.spend(now)
	return p
}

// limited says whether the server has a rate limit on a transport. A limit that was found on
// another one counts: a client has one for all.
func (r *run) limited(t Transport) (limited, known bool) {
	if limited, known = r.limits[t]; known {
		return limited, true
	}
	for _, other := range r.limits {
		if other {
			return true, true
		}
	}
	return false, false
}

func (r *run) bucket(clientID string) *tokenEstimate {
	b := r.buckets[clientID]
	if b == nil {
		b = &tokenEstimate{refill: r.opts.Refill, at: time.Now()}
		r.buckets[clientID] = b
	}
	return b
}

// keep makes a link the open connection of its transport. It ignores nil.
func (r *run) keep(l *link) {
	if l == nil {
		return
	}
	if old := r.links[l.transport]; old != nil {
		old.close()
	}
	r.links[l.transport] = l
}

// link is the open connection of a transport, reopened if the server has closed it.
func (r *run) link(ctx context.Context, t Transport) (*link, error) {
	if l := r.links[t]; l != nil && !l.dead {
		return l, nil
	}
	p, err := r.admit(ctx, r.target.ClientID, t, false)
	if err != nil {
		return nil, err
	}
	o := r.openingOfTarget(t)
	o.origin = r.origin
	l, _, err := r.open(ctx, o, p)
	r.keep(l)
	if l == nil && err == nil {
		err = notTried("an earlier check ended the connection, and there is no new one")
	}
	return l, err
}

func (r *run) closeLinks() {
	for _, l := range r.links {
		l.close()
	}
}

// notes clears the device list and returns what a reader must know about the run.
func (r *run) notes(ctx context.Context) []string {
	var notes []string
	for _, note := range []struct {
		holds bool
		text  string
	}{
		{len(r.limits) == 0 && r.opts.All, "Whether there is a rate limit could not be measured, so silence may also be queueing."},
		{
			r.results["http-empty-list"].got == "400 code 4000" || r.results["ipc-handshake"].got == closeWith(4000),
			"Code 4000: the server does not know the client id, or it has no connection to its own servers.",
		},
		{r.results["ipc-handshake"].got == closeWith(1000), "Close 1000: nobody is logged in to the client."},
		{
			ctx.Err() == nil && r.checkReachable(ctx) != nil,
			"The server no longer accepts connections. The last check that reached it was " + r.last + ".",
		},
		{!r.clean(ctx), "The devices of the checks could not be taken back: the server may still list ids that begin with conformance-check."},
	} {
		if note.holds {
			notes = append(notes, note.text)
		}
	}
	return notes
}

// clean sends an empty list if the server may hold devices of a check, even if the run was cut
// short. It reports whether none are left.
func (r *run) clean(ctx context.Context) bool {
	t := r.commandTransport()
	if !r.mayHoldDevices || t == "" {
		return !r.mayHoldDevices
	}
	r.opts.All = true // whatever it costs
	wait := 2*r.opts.Patience + r.opts.Refill
	if ctx.Err() != nil {
		wait = r.opts.Patience
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	_, _ = r.ask(ctx, t, payload{}) // mayHoldDevices has the result
	return !r.mayHoldDevices
}
