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
		body("pieces", "POST, body in three writes", httpSuccess, postAs(posting{split: inThree})),
		body("chunked", "POST, body in chunks", httpSuccess, postAs(posting{split: inChunks, chunked: true})),
		body("large", "POST, body of 4 MiB", httpSuccess, postAs(posting{split: large})).lasting(largeTime),
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

// splitCharacter splits a body inside a character of its nonce, which the answer repeats (rule
// R86).
func splitCharacter(ctx context.Context, r *run) (outcome, error) {
	inCharacter := func(text string) []string {
		at := strings.Index(text, "\u20ac") + 1
		return []string{text[:at], text[at:]}
	}
	o, err := r.post(ctx, posting{payload: payload{nonce: "conform-\u20ac"}, split: inCharacter})
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
	return t.refusal(http.MethodGet), nil
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
