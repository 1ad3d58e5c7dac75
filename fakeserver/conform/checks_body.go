package conform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// transit is how long data may be under way: what was sent is read within it, and a READY may
// have been sent that long before.
const transit = 100 * time.Millisecond

const (
	// idleTime is how long a connection that is not used is watched.
	idleTime = 8 * time.Second
	// largeTime is how much longer an answer to several MiB may take.
	largeTime = 20 * time.Second
	// largeBody is more than an IPC message may have, in bytes (rules R47, R85).
	largeBody = 4 << 20
)

// bodyChecks are about consecutive requests on one connection, and how bodies are sent.
func bodyChecks() []check {
	body := func(id, sentence, want string, p probe) check {
		return fullCheck(InHTTP, id, sentence, expects(Ran, want), p)
	}
	large := func(text string) []string { return []string{text + strings.Repeat(" ", largeBody-len(text))} }
	return []check{
		body("pieces", "POST, body in three writes", httpSuccess, postIn(false, inThree)),
		body("chunked", "POST, body in chunks", httpSuccess, postIn(true, inChunks)),
		body("large", "POST, body of 4 MiB", httpSuccess, postIn(false, large)).lasting(largeTime),
		body("split-character", "POST, character split over packets", damaged, splitCharacter),
		body("after-hang", "GET after a POST that hangs", bare, onConnection(0, afterHang)).costing(0),
		body("idle", "connection that is not used", idle, onConnection(idleTime, unused)).after("http-root").costing(0).lasting(idleTime),
	}
}

func inThree(text string) []string {
	third := len(text) / 3
	return []string{text[:third], text[third : 2*third], text[2*third:]}
}

func inChunks(text string) (chunks []string) {
	for _, piece := range inThree(text) {
		chunks = append(chunks, fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece))
	}
	return append(chunks, "0\r\n\r\n")
}

// postIn posts an empty list whose body is sent in several writes.
func postIn(chunked bool, cut func(text string) []string) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		c := r.compose(payload{})
		return r.postPieces(ctx, chunked, cut(c.text), c.cmd, c.nonce)
	}
}

// postPieces posts a command whose body is sent in pieces, at the cost of a token.
func (r *run) postPieces(ctx context.Context, chunked bool, pieces []string, cmd, nonce string) (outcome, error) {
	p, err := r.admit(ctx, r.target.ClientID, HTTP, false)
	if err != nil {
		return outcome{}, err
	}
	if len(pieces[0]) >= largeBody {
		p.wait += largeTime
	}
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	q := r.goodPost(strings.Join(pieces, ""))
	q.chunked, q.late = chunked, true
	t.write(q.bytes(r.address))
	for _, piece := range pieces {
		if err := sleep(ctx, transit); err != nil {
			return outcome{}, err
		}
		t.write([]byte(piece))
	}
	o := t.read(http.MethodPost).command(cmd, nonce)
	p.answered(o)
	r.noteDevices(payload{}, o, r.mayHoldDevices)
	return o, ctx.Err()
}

// splitCharacter splits a body inside a character of its nonce, which the answer repeats (rule
// R86).
func splitCharacter(ctx context.Context, r *run) (outcome, error) {
	c := r.compose(payload{nonce: "conform-\u20ac"})
	at := strings.Index(c.text, "\u20ac") + 1
	o, err := r.postPieces(ctx, false, []string{c.text[:at], c.text[at:]}, c.cmd, c.nonce)
	switch o.got {
	case httpSuccess:
		o.got = undamaged
	case "200 answer, nonce not echoed":
		o.got = damaged
	}
	return o, err
}

// afterHang sends a request that the client never answers, then a good one on the same
// connection (rule R82).
func afterHang(r *run, t *rawHTTP) (outcome, error) {
	hang := r.goodPost(r.compose(payload{}).text)
	hang.path, hang.keep = rpcPath("2", r.target.ClientID), true
	t.write(hang.bytes(r.address))
	if !t.quiet(min(5*transit, r.opts.Patience/3)) {
		return outcome{}, notTried("the POST is answered, or ends the connection")
	}
	t.write(getRoot.bytes(r.address))
	p := t.read(http.MethodGet)
	o := p.page()
	if p.status == http.StatusBadRequest && len(p.body) == 0 && t.closed() {
		o.got, o.detail = bare, ""
	}
	return o, nil
}

// unused leaves a connection idle after an answer (rule R84).
func unused(r *run, t *rawHTTP) (outcome, error) {
	t.write(getRoot.bytes(r.address))
	if p := t.read(http.MethodGet); p.got != "" {
		return p.outcome, nil
	}
	began := time.Now()
	_ = t.conn.SetReadDeadline(began.Add(idleTime))
	closed, after := t.closed(), time.Since(began)
	o := outcome{got: stillOpen, waited: after}
	switch {
	case closed && after > 4500*time.Millisecond && after < 7*time.Second:
		o.got = idle
	case closed:
		o.got, o.detail = hungUp, "after "+after.Round(time.Second).String()
	}
	return o, nil
}
