package conform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// flight is the time within which what was sent is surely read, or within which
// READY may have been on its way when a command was sent.
const flight = 100 * time.Millisecond

const (
	// idleTime is how long a connection that is not used is watched.
	idleTime = 8 * time.Second
	// largeTime is how much longer an answer to several MiB may take.
	largeTime = 20 * time.Second
	// largeBody is more than an IPC message may have, in bytes (rules R47, R85).
	largeBody = 4 << 20
)

// bodyChecks are about how requests follow each other, and how bodies come.
func bodyChecks() []check {
	pieces := func(id, sentence, want string, probe func(context.Context, *run) (outcome, error)) check {
		return check{
			id: "http-" + id, group: InHTTP, sentence: sentence, needs: "http-empty-list", cost: 1, all: true,
			client: says(Ran, want), probe: probe,
		}
	}
	inThree := func(text string) []string {
		third := len(text) / 3
		return []string{text[:third], text[third : 2*third], text[2*third:]}
	}
	inChunks := func(text string) []string {
		var chunks []string
		for _, piece := range inThree(text) {
			chunks = append(chunks, fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece))
		}
		return append(chunks, "0\r\n\r\n")
	}
	large := func(text string) []string { return []string{text + strings.Repeat(" ", largeBody-len(text))} }
	all := []check{
		pieces("pieces", "POST, body in three writes", httpSuccess, postIn(request{late: true}, inThree)),
		pieces("chunked", "POST, body in chunks", httpSuccess, postIn(request{chunked: true}, inChunks)),
		pieces("large", "POST, body of 4 MiB", httpSuccess, postIn(request{late: true}, large)),
		pieces("split-character", "POST, character split over packets", damaged, splitCharacter),
		{
			id: "http-after-hang", group: InHTTP, sentence: "GET after a POST that hangs", needs: "http-empty-list", all: true,
			client: says(Ran, bare), probe: afterHang,
		},
		{
			id: "http-idle", group: InHTTP, sentence: "connection that is not used", needs: "http-root", all: true, lasts: idleTime,
			client: says(Ran, idle), probe: unused,
		},
	}
	all[2].lasts = largeTime
	return all
}

// postIn sends an empty list whose body comes in several writes.
func postIn(q request, cut func(text string) []string) func(context.Context, *run) (outcome, error) {
	return func(ctx context.Context, r *run) (outcome, error) {
		c := r.compose(payload{})
		return r.postPieces(ctx, q, cut(c.text), c.cmd, c.nonce)
	}
}

// postPieces sends a command in pieces, at the cost of a token.
func (r *run) postPieces(ctx context.Context, q request, pieces []string, cmd, nonce string) (outcome, error) {
	p, why, err := r.admit(ctx, r.target.ClientID, HTTP)
	if why != "" || err != nil {
		return skipped(why), err
	}
	if len(pieces[0]) >= largeBody {
		p.wait += largeTime
	}
	t, err := r.rawHTTP(ctx, p.wait)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	q.method, q.path, q.header, q.body = http.MethodPost, rpcPath("1", r.target.ClientID), []string{jsonType}, strings.Join(pieces, "")
	t.say(q.bytes(r.address))
	for _, piece := range pieces {
		if err := sleep(ctx, flight); err != nil {
			return outcome{}, err
		}
		t.say([]byte(piece))
	}
	o := t.readAnswerRaw(http.MethodPost).command(cmd, nonce)
	p.heard(o)
	r.settle(payload{}, o, r.dirty)
	return o, ctx.Err()
}

// splitCharacter cuts a body inside a character of its nonce, which the answer repeats (rule R86).
func splitCharacter(ctx context.Context, r *run) (outcome, error) {
	c := r.compose(payload{nonce: "conform-\u20ac"})
	at := strings.Index(c.text, "\u20ac") + 1
	o, err := r.postPieces(ctx, request{late: true}, []string{c.text[:at], c.text[at:]}, c.cmd, c.nonce)
	switch o.got {
	case httpSuccess:
		o.got = undamaged
	case "200 answer, nonce not echoed":
		o.got = damaged
	}
	return o, err
}

// afterHang sends a request that the client never answers, and a good one on the same connection (rule R82).
func afterHang(ctx context.Context, r *run) (outcome, error) {
	t, err := r.rawHTTP(ctx, r.opts.Patience)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	hang := request{
		method: http.MethodPost, path: rpcPath("2", r.target.ClientID), header: []string{jsonType}, body: r.compose(payload{}).text, keep: true,
	}
	t.say(hang.bytes(r.address))
	if !t.quiet(min(5*flight, r.opts.Patience/3)) {
		return skipped("the POST is answered, or ends the connection"), ctx.Err()
	}
	t.say(request{method: http.MethodGet, path: "/", keep: true}.bytes(r.address))
	p := t.readAnswerRaw(http.MethodGet)
	o := p.page()
	if p.status == http.StatusBadRequest && len(p.body) == 0 && t.closed() {
		o.got, o.detail = bare, ""
	}
	return o, ctx.Err()
}

// unused leaves a connection alone after an answer (rule R84).
func unused(ctx context.Context, r *run) (outcome, error) {
	t, err := r.rawHTTP(ctx, r.opts.Patience+idleTime)
	if err != nil {
		return outcome{}, err
	}
	defer t.close()
	t.say(request{method: http.MethodGet, path: "/", keep: true}.bytes(r.address))
	if p := t.readAnswerRaw(http.MethodGet); p.got != "" {
		return p.outcome, ctx.Err()
	}
	began := time.Now()
	_ = t.conn.SetReadDeadline(began.Add(idleTime))
	switch closed, after := t.closed(), time.Since(began); {
	case !closed:
		return outcome{got: stillOpen, waited: after}, ctx.Err()
	case after > 4500*time.Millisecond && after < 7*time.Second:
		return outcome{got: idle, waited: after}, ctx.Err()
	default:
		return outcome{got: hungUp, detail: "after " + after.Round(time.Second).String(), waited: after}, ctx.Err()
	}
}
