package conform

import (
	"context"
	"net/http"
	"time"
)

// A tokenTaker asks for something that costs a token, at once, and says what came of it.
type tokenTaker func(ctx context.Context, r *run) (outcome, error)

func takePost(ctx context.Context, r *run) (outcome, error) {
	return r.post(ctx, posting{}, r.acquireNow)
}

func takeHandshake(ctx context.Context, r *run) (outcome, error) {
	return r.tryHandshake(ctx, 1, r.target.ClientID, r.acquireNow)
}

const (
	draining = capacity + 1 // tokens, to know that none is left
	twice    = draining + 2 // and for two more requests
)

// postTokenChecks tell what a POST does to the rate limit of a server that has one (rules R87, R88).
func postTokenChecks() []check {
	about := func(id, sentence string, cost int, want string, probe func(context.Context, *run) (outcome, error)) check {
		return check{
			id: "http-" + id, group: InHTTP, sentence: sentence, needs: "http-empty-list", cost: cost, all: true, limit: true,
			client: says(Ran, want), probe: probe,
		}
	}
	return []check{
		about("half-close", "POST in line, half-closed", draining+1, hungUp, halfClose),
		about("abandoned", "POST in line, given up", twice, burnt, abandon(HTTP, leavePost, takePost)),
		about("late-body", "POST without its body", twice, withHead, lateBody),
	}
}

// pipeTokenChecks do the same for an IPC connection.
func pipeTokenChecks() []check {
	return []check{{
		id: "ipc-abandoned", group: InIPC, sentence: "handshake in line, given up", needs: "ipc-handshake", cost: twice, all: true, limit: true,
		client: says(Ran, kept), probe: abandon(IPC, leavePipe, takeHandshake),
	}}
}

// drain asks until it has to wait. Then no token is left, and the next one comes
// after a whole refill. Otherwise the outcome says why that cannot be reached.
func (r *run) drain(ctx context.Context, take tokenTaker) (outcome, bool, error) {
	for range draining {
		o, err := take(ctx, r)
		switch {
		case err != nil || o.skip != "":
			return o, false, err
		case !o.answered():
			return skipped("a good request is not answered"), false, nil
		case o.waited > r.opts.Refill/2:
			return outcome{}, true, nil
		}
	}
	return skipped(noLimit), false, nil
}

// abandon measures how long a request has to wait behind one that was given up.
func abandon(t Transport, leave func(context.Context, *run) error, take tokenTaker) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		if o, empty, err := r.drain(ctx, take); !empty {
			return o, err
		}
		began := time.Now()
		if err := leave(ctx, r); err != nil {
			return outcome{}, err
		}
		o, err := take(ctx, r)
		return r.waitedFor(o, began, burnt, kept), err
	}
}

// waitedFor tells by the time since no token was left whether a request got the
// second token that came, or the first.
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

// queueTime is how long a request stays in line before it is given up.
func (r *run) queueTime() time.Duration { return min(flight, r.opts.Refill/10) }

// queuePost sends a POST that has to wait for its turn. The caller closes the connection.
func (r *run) queuePost(ctx context.Context, late bool) (*rawHTTP, command, pass, error) {
	p, _, _ := r.acquireNow(ctx, r.target.ClientID, HTTP)
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return nil, command{}, p, err
	}
	c := r.compose(payload{})
	post := request{method: http.MethodPost, path: rpcPath("1", r.target.ClientID), header: []string{jsonType}, body: c.text, late: late}
	t.say(post.bytes(r.address))
	if err := sleep(ctx, r.queueTime()); err != nil {
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
	p, _, _ := r.acquireNow(ctx, r.target.ClientID, IPC)
	l, c, err := r.dialPipe(ctx, p.wait)
	if err != nil {
		return err
	}
	defer l.close()
	_ = c.send(opHandshake, handshake(1, r.target.ClientID), time.Now().Add(p.wait)) // a failure shows when the next one waits
	return sleep(ctx, r.queueTime())
}

// halfClose closes the sending half of a connection whose POST is in line.
func halfClose(ctx context.Context, r *run) (outcome, error) {
	if o, empty, err := r.drain(ctx, takePost); !empty {
		return o, err
	}
	t, c, p, err := r.queuePost(ctx, false)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	if !t.finish() {
		return skipped("this network cannot do that"), nil
	}
	o := t.readAnswerRaw(http.MethodPost).command(c.cmd, c.nonce)
	if o.got != hungUp { // what was hung up may still cost its token
		p.heard(o)
	}
	return o, ctx.Err()
}

// lateBody holds back the body of a POST until another one was answered.
func lateBody(ctx context.Context, r *run) (outcome, error) {
	if o, empty, err := r.drain(ctx, takePost); !empty {
		return o, err
	}
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
	t.say([]byte(c.text))
	if late := t.readAnswerRaw(http.MethodPost).command(c.cmd, c.nonce); late.got != httpSuccess {
		o.detail = "the body was answered by " + late.got
	}
	return o, ctx.Err()
}
