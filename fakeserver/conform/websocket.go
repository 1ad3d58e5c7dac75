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
	"slices"
	"time"

	"github.com/gorilla/websocket"
)

// maxUpgrade bounds the answer to the upgrade request, in bytes.
const maxUpgrade = 64 << 10

// noWebSocket is the outcome if the server refuses the upgrade; the HTTP status follows.
const noWebSocket = "no WebSocket: "

// dialSocket opens a WebSocket. If it returns no link, the outcome says what came instead.
func (r *run) dialSocket(ctx context.Context, o opening, wait time.Duration) (*link, outcome, error) {
	began := time.Now()
	var raw *capped
	dialer := websocket.Dialer{
		HandshakeTimeout: wait,
		NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := r.dial(ctx, networkTCP, r.address, wait)
			if len(o.with) > 0 && err == nil {
				c = &appending{c, o.with}
			}
			raw = &capped{Conn: c, left: maxUpgrade}
			return raw, err
		},
	}
	head := http.Header{}
	if o.origin != "" || o.emptyOrigin {
		head.Set("Origin", o.origin)
	}
	ws, resp, err := dialer.DialContext(ctx, o.url(r.address), head)
	if resp != nil {
		defer resp.Body.Close()
	}
	var gone *UnreachableError
	switch {
	case ctx.Err() != nil || errors.As(err, &gone):
		if ws != nil {
			_ = ws.Close()
		}
		return nil, outcome{}, errors.Join(ctx.Err(), err)
	case errors.Is(err, websocket.ErrBadHandshake):
		body, _ := io.ReadAll(resp.Body) // the part that the dialer has kept
		return nil, outcome{got: noWebSocket + fmt.Sprint(resp.StatusCode), detail: compact(body), waited: time.Since(began)}, nil
	case err != nil:
		o := failure(cmp.Or(raw.err, err), raw.read > 0)
		o.waited = time.Since(began)
		return nil, o, nil
	}
	raw.left = math.MaxInt // from now on each message has its own limit
	write := func(kind uint32, message []byte) error { return ws.WriteMessage(int(kind), message) }
	return newLink(WebSocket, ws.NetConn(), func() event { return nextMessage(ws) }, write), outcome{}, nil
}

// An appending connection sends more with the first write.
type appending struct {
	net.Conn
	more []byte
}

func (a *appending) Write(p []byte) (int, error) {
	more := a.more
	a.more = nil
	n, err := a.Conn.Write(slices.Concat(p, more))
	return min(n, len(p)), err
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
		return event{kind: eventClosed, end: outcome{got: closeWith(closed.Code), detail: sanitize(closed.Text)}}
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
