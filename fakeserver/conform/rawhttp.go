package conform

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"
)

// A rawHTTP is a connection on which a check may send anything.
type rawHTTP struct {
	conn     *capped
	in       *bufio.Reader
	deadline time.Time
	stop     func() bool
}

func (r *run) rawHTTP(ctx context.Context, wait time.Duration) (*rawHTTP, error) {
	deadline := time.Now().Add(wait)
	raw, err := r.dial(ctx, networkTCP, r.address, wait)
	if err != nil {
		return nil, err
	}
	_ = raw.SetDeadline(deadline)
	t := &rawHTTP{conn: &capped{Conn: raw, left: maxHTTP}, deadline: deadline}
	t.in = bufio.NewReader(t.conn)
	t.stop = context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	return t, nil
}

// onConnection uses one connection; an answer may take so much longer than usual.
func onConnection(longer time.Duration, use func(*run, *rawHTTP) (outcome, error)) probe {
	return func(ctx context.Context, r *run) (outcome, error) {
		t, err := r.rawHTTP(ctx, r.opts.Patience+longer)
		if err != nil {
			return outcome{}, err
		}
		defer t.close()
		o, err := use(r, t)
		return o, cmp.Or(ctx.Err(), err)
	}
}

func (t *rawHTTP) close() {
	t.stop()
	_ = t.conn.Close()
}

// write sends text in one write. A server may answer and close before it has read everything,
// so a failure shows when reading.
func (t *rawHTTP) write(text []byte) { _, _ = t.conn.Write(text) }

// finish closes the sending half. It reports false if the network cannot do that.
func (t *rawHTTP) finish() bool {
	half, ok := t.conn.Conn.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// read reads the answer as it is: no redirects, decompression or retries.
func (t *rawHTTP) read(method string) (answer reply) {
	began, before := time.Now(), t.conn.read
	t.conn.err = nil
	resp, err := http.ReadResponse(t.in, &http.Request{Method: method})
	if err == nil {
		defer resp.Body.Close()
		answer.status, answer.kind = resp.StatusCode, resp.Header.Get("Content-Type")
		answer.cors = map[string]string{}
		for name := range resp.Header {
			if rest, ok := strings.CutPrefix(name, "Access-Control-Allow-"); ok {
				answer.cors[rest] = resp.Header.Get(name)
			}
		}
		answer.body, err = io.ReadAll(resp.Body)
	}
	if err != nil {
		answer = reply{outcome: failure(cmp.Or(t.conn.err, err), t.conn.read > before)}
	}
	answer.waited = time.Since(began)
	return answer
}

// quiet reports whether nothing comes for a while.
func (t *rawHTTP) quiet(d time.Duration) bool {
	_ = t.conn.SetReadDeadline(time.Now().Add(d))
	defer func() { _ = t.conn.SetReadDeadline(t.deadline) }()
	_, err := t.in.Peek(1)
	return isTimeout(err)
}

// closed reports whether the server closes the connection before the deadline and sends nothing
// more.
func (t *rawHTTP) closed() bool {
	_, err := t.in.ReadByte()
	return err != nil && failure(err, false).got == hungUp
}
