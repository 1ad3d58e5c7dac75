package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// maxUpgrade bounds the answer to the request for a WebSocket, in bytes.
const maxUpgrade = 64 << 10

// noWebSocket begins the outcome of a server that refuses the upgrade; the HTTP status follows.
const noWebSocket = "no WebSocket: "

// A socketQuery is what a WebSocket is asked for; an empty part is left out.
type socketQuery struct {
	v, clientID, encoding, origin string

	path        string // "" means /
	emptyOrigin bool   // an Origin with nothing in it is sent
}

func (q socketQuery) url(address string) string {
	query := url.Values{}
	for key, value := range map[string]string{"v": q.v, "client_id": q.clientID, "encoding": q.encoding} {
		if value != "" {
			query.Set(key, value)
		}
	}
	return "ws://" + address + cmp.Or(q.path, "/") + "?" + query.Encode()
}

// dialSocket opens a WebSocket. Without a link the outcome says what came instead.
func (r *run) dialSocket(ctx context.Context, q socketQuery, wait time.Duration) (*link, *websocket.Conn, outcome, error) {
	began := time.Now()
	var raw *capped
	dialer := websocket.Dialer{
		HandshakeTimeout: wait,
		NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := r.dialTCP(ctx, wait)
			raw = &capped{Conn: c, left: maxUpgrade}
			return raw, err
		},
	}
	head := http.Header{}
	if q.origin != "" || q.emptyOrigin {
		head.Set("Origin", q.origin)
	}
	ws, resp, err := dialer.DialContext(ctx, q.url(r.address), head)
	if resp != nil {
		defer resp.Body.Close()
	}
	var gone *UnreachableError
	switch {
	case ctx.Err() != nil || errors.As(err, &gone):
		if ws != nil {
			_ = ws.Close()
		}
		return nil, nil, outcome{}, errors.Join(ctx.Err(), err)
	case errors.Is(err, websocket.ErrBadHandshake):
		body, _ := io.ReadAll(resp.Body) // as much of it as the dialer has kept
		return nil, nil, outcome{got: noWebSocket + fmt.Sprint(resp.StatusCode), detail: compact(body), waited: time.Since(began)}, nil
	case err != nil:
		o := failure(cmp.Or(raw.err, err), raw.read > 0)
		o.waited = time.Since(began)
		return nil, nil, o, nil
	}
	raw.left = math.MaxInt // from here on each message is bounded
	return socketLink(ws), ws, outcome{}, nil
}

func socketLink(ws *websocket.Conn) *link {
	write := func(data []byte, deadline time.Time) error {
		_ = ws.SetWriteDeadline(deadline)
		return ws.WriteMessage(websocket.TextMessage, data)
	}
	return newLink(WebSocket, func() event { return nextMessage(ws) }, write, func() { _ = ws.Close() })
}

func nextMessage(ws *websocket.Conn) event {
	kind, body, err := ws.NextReader()
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(body, maxFrame+1)) // a compressed one may be far larger than its frame
	}
	var closed *websocket.CloseError
	switch {
	case errors.As(err, &closed) && closed.Code != websocket.CloseNoStatusReceived && closed.Code != websocket.CloseAbnormalClosure:
		return event{kind: eventClosed, end: outcome{got: closeWith(closed.Code), detail: harmless(closed.Text)}}
	case errors.As(err, &closed):
		return event{kind: eventClosed, end: outcome{got: hungUp}}
	case err != nil:
		return event{kind: eventClosed, end: failure(err, false)}
	case len(data) > maxFrame:
		return event{kind: eventClosed, end: outcome{got: tooLarge}}
	case kind == websocket.TextMessage:
		return event{kind: eventText, data: data}
	}
	return event{kind: eventOther, data: data}
}

func closeWith(code int) string { return fmt.Sprintf("close %d", code) }

// hasCode reports whether a connection was closed with a code.
func hasCode(got string) bool { return strings.HasPrefix(got, "close ") }

// openSocket opens a WebSocket and waits for READY, at the cost of a token.
// Without READY there is no link.
func (r *run) openSocket(ctx context.Context, q socketQuery, p pass) (*link, *websocket.Conn, outcome, error) {
	deadline := time.Now().Add(p.wait)
	l, ws, o, err := r.dialSocket(ctx, q, p.wait)
	if l == nil {
		p.heard(o)
		return nil, nil, o, err
	}
	o, hello, err := l.greeting(ctx, time.Until(deadline))
	p.heard(o)
	if err != nil || o.got != ready {
		l.close()
		return nil, nil, o, err
	}
	r.hello[WebSocket] = hello
	return l, ws, o, nil
}
