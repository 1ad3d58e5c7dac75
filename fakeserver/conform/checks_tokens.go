package conform

import (
	"context"
	"net/http"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
	"sidetone/internal/signal"
)

var takePost = postAs(posting{now: true})

// takeOpening takes a token by opening a connection.
func takeOpening(t Transport) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		o := r.openingOfTarget(t)
		o.now = true
		return r.tryOpening(ctx, o)
	}
}

const (
	tokensToDrain = capacity + 1      // to be sure that none is left
	costOfTwo     = tokensToDrain + 2 // and for two more requests
)

// postTokenChecks find out what a POST does to the rate limit of a server that has one (rules
// R87, R88).
func postTokenChecks() []check {
	return []check{
		fullCheck(InHTTP, "half-closed", "POST, half-closed", expects(Ran, hungUp), halfCloseAtOnce),
		aboutLimit(InHTTP, "half-close", "POST in line, half-closed", hungUp, drained(takePost, halfClose)).costing(tokensToDrain + 1),
		aboutLimit(InHTTP, "abandoned", "POST in line, given up", tokenSpent, abandon(leavePost, takePost)),
		aboutLimit(InHTTP, "late-body", "POST without its body", withHead, drained(takePost, lateBody)),
	}
}

func pipeTokenChecks() []check {
	return []check{
		aboutLimit(InIPC, "abandoned", "handshake in line, given up", tokenKept, abandon(leavePipe, takeOpening(IPC))).
			orBuilds(february2026, tokenSpent),
	}
}

func aboutLimit(g Group, id, sentence, want string, p probe) check {
	c := fullCheck(g, id, sentence, expects(Ran, want), p).costing(costOfTwo)
	c.limit = true
	return c
}

// drain takes tokens until it has to wait. Then none is left, and the next one comes after a
// whole refill. The error says why that is not possible.
func (r *run) drain(ctx context.Context, take probe) error {
	for range tokensToDrain {
		o, err := take(ctx, r)
		switch {
		case err != nil:
			return err
		case !o.answered():
			return notTried("a good request is not answered")
		case o.waited > r.opts.Refill/2:
			return nil
		}
	}
	return notTried(noLimit)
}

// drained runs a probe when no token is left.
func drained(take, p probe) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		if err := r.drain(ctx, take); err != nil {
			return outcome{}, err
		}
		return p(ctx, r)
	}
}

// abandon measures how long a request waits behind one that was abandoned.
func abandon(leave func(context.Context, *run) error, take probe) probe {
	return drained(take, func(ctx context.Context, r *run) (outcome, error) {
		began := time.Now()
		if err := leave(ctx, r); err != nil {
			return outcome{}, err
		}
		o, err := take(ctx, r)
		return r.waitedFor(o, began, tokenSpent, tokenKept), err
	})
}

// waitedFor tells by the time since no token was left whether a request got the second token or
// the first.
func (r *run) waitedFor(o outcome, began time.Time, second, first string) outcome {
	o.waited = time.Since(began)
	switch {
	case !o.answered():
	case o.waited > r.opts.Refill*3/2:
		o.got = second
	default:
		o.got = first
	}
	return o
}

// queueTime is how long a request waits in line before it is abandoned.
func (r *run) queueTime() time.Duration { return min(transit, r.opts.Refill/10) }

// queuePost sends a POST that has to wait in line. The caller closes the connection.
func (r *run) queuePost(ctx context.Context, late bool) (*rawHTTP, command, pass, error) {
	p := r.admitNow(r.target.ClientID, HTTP)
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return nil, command{}, p, err
	}
	c := r.compose(payload{})
	post := r.goodPost(c.text)
	post.late = late
	t.write(post.bytes(r.address))
	if err := signal.Sleep(ctx, r.queueTime()); err != nil {
		t.close()
		return nil, c, p, err
	}
	return t, c, p, nil
}

func leavePost(ctx context.Context, r *run) error {
	t, _, _, err := r.queuePost(ctx, false)
	if err == nil {
		t.close()
	}
	return err
}

func leavePipe(ctx context.Context, r *run) error {
	p := r.admitNow(r.target.ClientID, IPC)
	l, err := r.dialPipe(ctx, p.wait)
	if err != nil {
		return err
	}
	defer l.close()
	l.send(ipcframe.Handshake, handshake(1, r.target.ClientID), p.wait)
	return signal.Sleep(ctx, r.queueTime())
}

// halfCloseAtOnce closes the sending half of a connection right after a POST for which there is a token.
func halfCloseAtOnce(ctx context.Context, r *run) (outcome, error) {
	p, err := r.admit(ctx, r.target.ClientID, HTTP, false)
	if err != nil {
		return outcome{}, err
	}
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	c := r.compose(payload{})
	t.write(r.goodPost(c.text).bytes(r.address))
	if !t.finish() {
		return outcome{}, notTried("this network cannot do that")
	}
	o := t.read(http.MethodPost).command(c.wantCmd, c.wantNonce)
	p.answered(o)
	return o, ctx.Err()
}

// halfClose closes the sending half of a connection whose POST waits in line.
func halfClose(ctx context.Context, r *run) (outcome, error) {
	t, c, p, err := r.queuePost(ctx, false)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	if !t.finish() {
		return outcome{}, notTried("this network cannot do that")
	}
	o := t.read(http.MethodPost).command(c.wantCmd, c.wantNonce)
	if o.got != hungUp { // the closed request may still cost a token
		p.answered(o)
	}
	return o, ctx.Err()
}

// lateBody sends the body of a POST only after another one was answered.
func lateBody(ctx context.Context, r *run) (outcome, error) {
	began := time.Now()
	t, c, _, err := r.queuePost(ctx, true)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	o, err := takePost(ctx, r)
	o = r.waitedFor(o, began, withHead, withBody)
	if err != nil || !o.answered() {
		return o, err
	}
	t.write([]byte(c.text))
	if late := t.read(http.MethodPost).command(c.wantCmd, c.wantNonce); late.got != httpSuccess {
		o.detail = "the body was answered by " + late.got
	}
	return o, ctx.Err()
}
