package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sidetone/internal/signal"
)

const (
	maxHTTP = 64 << 10 // bytes of an HTTP answer, head included

	notFound = `{"code":0,"message":"Not Found"}`
)

// A request is one HTTP request, byte for byte as it is sent.
type request struct {
	method, path string // path with its query
	header       []string
	body         string
	keep         bool // more requests follow on the connection
	chunked      bool // the body is chunked, and sent separately
	late         bool // the body is sent separately
}

// getRoot is a request that any server can answer.
var getRoot = request{method: http.MethodGet, path: "/", keep: true}

// goodPost is a request with a command that clients accept.
func (r *run) goodPost(body string) request {
	return request{method: http.MethodPost, path: rpcPath("1", r.target.ClientID), header: []string{jsonType}, body: body}
}

// rpcPath is the path of a command; an empty part is left out.
func rpcPath(v, clientID string) string {
	query := url.Values{}
	if v != "" {
		query.Set("v", v)
	}
	if clientID != "" {
		query.Set("client_id", clientID)
	}
	return "/rpc?" + query.Encode()
}

const jsonType = "Content-Type: application/json"

func (q request) bytes(host string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", q.method, q.path, host)
	if !q.keep {
		b.WriteString("Connection: close\r\n")
	}
	for _, line := range q.header {
		b.WriteString(line + "\r\n")
	}
	switch {
	case q.chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case q.method == http.MethodPost:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.body))
	}
	b.WriteString("\r\n")
	if !q.chunked && !q.late {
		b.WriteString(q.body)
	}
	return b.Bytes()
}

// A reply is the answer to a request. Its outcome is empty if the answer is complete.
type reply struct {
	outcome
	status int
	kind   string            // Content-Type
	cors   map[string]string // Access-Control-Allow-…, by the rest of the name
	body   []byte
}

// do sends a request on its own connection, in one write unless the body is split,
// and reads the answer.
func (r *run) do(ctx context.Context, q request, split func(string) []string, wait time.Duration) (reply, error) {
	began := time.Now()
	var pieces []string
	if split != nil {
		pieces, q.late = split(q.body), true
		q.body = strings.Join(pieces, "")
		if len(q.body) >= largeBody {
			wait += largeTime
		}
	}
	t, err := r.rawHTTP(ctx, wait)
	if err != nil {
		return reply{}, err
	}
	defer t.close()
	t.write(q.bytes(r.address))
	for _, piece := range pieces {
		if err := signal.Sleep(ctx, transit); err != nil {
			return reply{}, err
		}
		t.write([]byte(piece))
	}
	answer := t.read(q.method)
	answer.waited = time.Since(began)
	return answer, ctx.Err()
}

// page is the outcome of a request without a command.
func (p reply) page() outcome {
	o := p.outcome
	switch {
	case o.got != "":
	case p.status == http.StatusNotFound && p.kind == "application/json" && string(p.body) == notFound:
		o.got = fingerprint
	default:
		o.got, o.detail = fmt.Sprint(p.status), p.describe()
	}
	return o
}

// command is the outcome of a command (rules R41 to R43).
func (p reply) command(cmd, nonce string) outcome {
	o := p.outcome
	if o.got != "" {
		return o
	}
	a, isObject := readAnswer(p.body)
	switch {
	case p.status == http.StatusOK && isObject:
		verdict := a.judge(cmd, nonce)
		o.got, o.detail = "200 "+verdict.got, verdict.detail
	case isObject && len(a["code"]) > 0 && len(a["code"]) < 10:
		o.got, o.detail = fmt.Sprintf("%d code %s", p.status, sanitize(string(a["code"]))), sanitize(a.text("message"))
	default:
		o.got, o.detail = fmt.Sprint(p.status), p.describe()
	}
	return o
}

func (p reply) describe() string { return joinNonEmpty(": ", sanitize(p.kind), compact(p.body)) }

// dial returns an *UnreachableError if there is no server, apart from the context's error.
func (r *run) dial(ctx context.Context, network, address string, wait time.Duration) (net.Conn, error) {
	within, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	c, err := r.opts.Dial(within, network, address)
	if err != nil {
		return nil, errors.Join(ctx.Err(), &UnreachableError{address, err})
	}
	return c, nil
}
