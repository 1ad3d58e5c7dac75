package conform

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	otherOrigin = "https://conformance.invalid" // is registered for no application
	ownOrigin   = "https://discord.com"         // of the client's own pages (rule R24)
)

func get(path string) probe {
	return pageOf(request{method: http.MethodGet, path: path}, func(_ reply, got string) string { return got })
}

// pageOf sends a request without a command. name may give the outcome a better name.
func pageOf(q request, name func(p reply, got string) string) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		p, err := r.do(ctx, q, nil, r.opts.Patience)
		o := p.page()
		o.got = name(p, o.got)
		return o, err
	}
}

// freeChecks cost no token.
func freeChecks() []check {
	free := func(id, sentence string, basis Basis, want string, p probe) check {
		return quickCheck(InHTTP, id, sentence, expects(basis, want), p)
	}
	return []check{
		free("root", "GET /", Read, fingerprint, get("/")),
		free("other-path", "GET /conformance", Read, fingerprint, get("/conformance")),
		free("get-rpc-v", "GET /rpc?v=1", Ran, "301", get("/rpc?v=1")),
		free("options", "OPTIONS /rpc", Ran, options, pageOf(request{method: http.MethodOptions, path: rpcPath("1", "")}, isOptions)),
		free("options-other", "OPTIONS /conformance", Ran, fingerprint,
			pageOf(request{method: http.MethodOptions, path: "/conformance"}, isOptions)),
		free("cors", "GET / with an Origin", Ran, echoed,
			pageOf(request{method: http.MethodGet, path: "/", header: []string{"Origin: " + otherOrigin}}, isEchoed)),
		free("cors-moved", "GET /rpc?v=1 with an Origin", Ran, "301",
			pageOf(request{method: http.MethodGet, path: "/rpc?v=1", header: []string{"Origin: " + otherOrigin}}, isEchoed)),
		free("pipelined", "two GETs in one write", Ran, bothAnswered, onConnection(0, getTwice)),
	}
}

func isOptions(p reply, got string) string {
	if p.status == http.StatusOK && string(p.body) == `{"body":""}` {
		return options
	}
	return got
}

// corsOfClient is what the client says about CORS (rule R83).
var corsOfClient = map[string]string{
	"Origin": otherOrigin, "Credentials": "true", "Methods": "POST, GET, PUT, PATCH, DELETE", "Headers": "Content-Type, Authorization",
}

func isEchoed(p reply, got string) string {
	switch got {
	case "301":
		if len(p.cors) > 0 {
			return got + ", CORS"
		}
	case fingerprint:
		if maps.Equal(p.cors, corsOfClient) {
			return echoed
		}
		if len(p.cors) > 0 {
			return got + ", other CORS"
		}
	}
	return got
}

func getTwice(r *run, t *rawHTTP) (outcome, error) {
	q := getRoot.bytes(r.address)
	t.write(slices.Concat(q, q))
	if first := t.read(http.MethodGet); first.got != "" {
		return first.outcome, nil
	}
	second := t.read(http.MethodGet)
	second.detail = second.got
	if second.got != "" {
		second.got = "the first answered"
	} else {
		second.got = bothAnswered
	}
	return second.outcome, nil
}

// A posting is a POST that differs in one thing from a good one.
type posting struct {
	payload  payload
	v        *string  // nil means 1, and "" none
	clientID string   // "" means the target's. Each has a rate limit of its own
	noClient bool     // clientID is not sent, only charged
	query    string   // instead of v and client id, with %s for it
	header   []string // nil means a good one
	body     string   // "" means the payload
	now      bool     // without waiting for a token

	split   func(text string) []string // splits the body into several writes; nil: one write
	chunked bool
}

func postAs(p posting) probe {
	return func(ctx context.Context, r *run) (outcome, error) { return r.post(ctx, p) }
}

// post sends a command over HTTP, at the cost of a token.
func (r *run) post(ctx context.Context, p posting) (outcome, error) {
	p.clientID = cmp.Or(p.clientID, r.target.ClientID)
	v, clientID := cmp.Or(p.v, new("1")), p.clientID
	if p.noClient {
		clientID = ""
	}
	if p.header == nil {
		p.header = []string{jsonType}
	}
	c := r.compose(p.payload)
	pass, err := r.admit(ctx, p.clientID, HTTP, p.now)
	if err != nil {
		return outcome{}, err
	}
	before := r.mayHoldDevices
	r.mayHoldDevices = before || p.payload.sets()
	path := rpcPath(*v, clientID)
	if p.query != "" {
		path = "/rpc?" + strings.ReplaceAll(p.query, "%s", r.target.ClientID)
	}
	q := request{method: http.MethodPost, path: path, header: p.header, body: cmp.Or(p.body, c.text), chunked: p.chunked}
	answer, err := r.do(ctx, q, p.split, pass.wait)
	o := answer.command(c.wantCmd, c.wantNonce)
	pass.answered(o)
	r.noteDevices(p.payload, o, before)
	return o, err
}

// postChecks find out whether commands are accepted over HTTP, and how fast.
func postChecks() []check {
	return []check{
		quickCheck(InHTTP, "empty-list", "POST /rpc, empty list", expects(Read, httpSuccess), postAs(posting{})).
			costing(1).specified(httpSuccess).commanding(),
		fullCheck(InHTTP, "rate", "three POSTs at once", expects(Ran, queued), rate(HTTP, takePost)).costing(capacity + 1),
	}
}

// badPostChecks send POSTs that are themselves invalid.
func badPostChecks() []check {
	bad := func(id, sentence string, client Column, p posting) check {
		c := fullCheck(InHTTP, id, sentence, client, postAs(p))
		if p.clientID != "" && p.query == "" { // to many servers a query that is none is no reason for an answer
			return c.asOther()
		}
		return c
	}
	withoutVendor := list(device("audioinput", fields{"vendor": nil}))
	return []check{
		fullCheck(InHTTP, "get-rpc", "GET /rpc, no v", expects(Ran, silence), get("/rpc")).costing(0),
		fullCheck(InHTTP, "get-null", "GET /rpc?v=1, payload null", expects(Ran, silence), get("/rpc?v=1&payload=null")).costing(0),
		fullCheck(InHTTP, "get-bad-escape", "GET /rpc?v=1, payload badly escaped", expects(Ran, silence), get("/rpc?v=1&payload=%zz")).costing(0),
		bad("no-client-id", "POST, no client_id", expects(Read, "400 code 4000"), posting{noClient: true, clientID: "none"}),
		bad("bad-client-id", "POST, client_id is no number", expects(Read, "400 code 4000"), posting{clientID: "conform-http"}),
		bad("own-origin", "POST of one of the client's pages", expects(Ran, "200 ERROR 4006"),
			posting{noClient: true, clientID: "none", header: []string{jsonType, "Origin: " + ownOrigin}}),
		bad("origin", "POST, Origin not registered", expects(Ran, "400 code 4001"),
			posting{header: []string{jsonType, "Origin: " + otherOrigin}}),
		bad("not-json", "POST, body not JSON", expects(Read, "400 code 1003"), posting{body: `{"nonce":`}),
		bad("unknown-cmd", "POST, unknown cmd", expects(Read, "200 ERROR 4002"), posting{payload: payload{cmd: "CONFORMANCE"}}),
		bad("nonce-missing", "POST, nonce missing", expects(Ran, "200 ERROR 4000"), posting{payload: payload{noNonce: true}}),
		bad("nonce-empty", "POST, nonce empty", expects(Ran, "200 ERROR 4000"), posting{payload: payload{otherNonce: ""}}),
		bad("args-invalid", "POST, device without vendor", expects(Read, "200 ERROR 4000"), posting{payload: payload{args: withoutVendor}}),
		bad("related-missing", "POST, device without related", expects(Read, "200 ERROR 1000"),
			posting{payload: payload{args: list(device("audioinput", fields{"related": nil}))}}),
		bad("empty-origin", "POST, Origin empty", expects(Ran, "400 code 4001"), posting{header: []string{jsonType, "Origin: "}}),
		bad("text-json", "POST, Content-Type text/json", expects(Ran, httpSuccess), posting{header: []string{"Content-Type: text/json"}}),
		bad("json-slash", "POST, type application/json/x", expects(Ran, httpSuccess), posting{header: []string{jsonType + "/x"}}),
		bad("semicolon", "POST /rpc?v=1;client_id=ID", expects(Ran, "400 code 4000"), posting{query: "v=1;client_id=%s", clientID: "semicolon"}),
		bad("second-query", "POST, query with a second ?", expects(Ran, httpSuccess), posting{query: "v=1&client_id=%s?v=2"}),
		bad("v-text", "POST, v=abc", expects(Ran, httpSuccess), posting{v: new("abc")}),
		bad("v-decimal", "POST, v=1.0", expects(Ran, httpSuccess), posting{v: new("1.0")}),
		bad("v-zero", "POST, v=0", expects(Ran, silence), posting{v: new("0")}),
		bad("v-half", "POST, v=0.5", expects(Ran, silence), posting{v: new("0.5")}),
		bad("null", "POST, body null", expects(Ran, silence), posting{body: "null"}),
		bad("wrong-v", "POST, v=2", expects(Ran, silence), posting{v: new("2")}),
		bad("no-v", "POST, no v", expects(Ran, silence), posting{v: new("")}),
		bad("charset", "POST, Content-Type with a charset", expects(Ran, silence), posting{header: []string{jsonType + "; charset=utf-8"}}),
		bad("no-content-type", "POST, no Content-Type", expects(Ran, silence), posting{header: []string{}}),
	}
}

// rate sends three requests at once. A client with a bucket of two lets the third one wait
// (rule R67).
func rate(t Transport, ask probe) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		began := time.Now()
		first := ""
		for range capacity + 1 {
			o, err := ask(ctx, r)
			first = cmp.Or(first, o.got)
			if err != nil || !o.answered() || o.got != first {
				return o, err // what waits in line is let in like the others, however long it takes (rule R80)
			}
		}
		took := time.Since(began)
		r.limits[t] = took > r.opts.Refill/2
		if r.limits[t] {
			return outcome{got: queued, waited: took}, nil
		}
		return outcome{got: allAtOnce, waited: took}, nil
	}
}
