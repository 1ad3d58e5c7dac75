package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/timeline"
)

// Dialer opens a connection to the agent.
type Dialer func(context.Context) (net.Conn, error)

// ErrNotRunning means that no agent answers at its address.
var ErrNotRunning = errors.New("the agent is not running: start it with 'sidetone run'")

// ErrSilent means that the agent takes connections and answers nothing: it hangs, or was stopped as by
// Ctrl-Z or a debugger.
var ErrSilent = errors.New("the agent does not answer: it hangs, or was stopped (kill -STOP); " +
	"end it and start it again, or let it go on (kill -CONT)")

// ErrEnded means that the agent has ended a watch or a PushConn, as it does when it stops.
var ErrEnded = errors.New("the agent has ended the connection: it has stopped, or is about to")

// errUnreadable means that what answers at the agent's address does not answer as an agent of this version would.
var errUnreadable = errors.New("the agent's answer cannot be read")

// errNoStatus is an answer without what every agent says: its process.
var errNoStatus = errors.New("it is no status")

const (
	// dialTimeout bounds the opening of a connection.
	dialTimeout = 3 * time.Second
	// askTimeout bounds a question, or a wish, whose context has no deadline. The agent takes milliseconds for
	// either. Who gives up does not know whether something has been changed.
	askTimeout = 3 * time.Second
	// answerTimeout is how long the head of an answer that has no end of its own may take, and then the present state.
	answerTimeout = 3 * time.Second
	// partingTimeout is how long the last lines of a recording may take.
	partingTimeout = 15 * time.Second
	// maxAnswer bounds an answer, or a line of a recording, in bytes.
	maxAnswer = 16 << 20
	// maxChange bounds a line of a watch, which a tray keeps in memory. A thousand headsets with all that may be wrong with them
	// take 3 MiB.
	maxChange = 4 << 20
)

// Client asks an agent. Each call has a connection of its own, ends with its context, and
// after some seconds if that has no deadline. Errors: *Problem where the agent refuses, ErrNotRunning
// where there is none, ErrSilent where it does not answer in time, errUnreadable where something else does. It is
// safe for concurrent use and needs no closing.
type Client struct {
	http         http.Client
	stream       http.Client // for answers without an end
	dial         Dialer
	dialHandover Dialer // for connections over which one agent goes on in place of another
}

// HandoverBy has c connect otherwise where the connection is to outlast that the agent gives up its address.
func (c *Client) HandoverBy(dial Dialer) *Client {
	c.dialHandover = dial
	return c
}

// handoverClient is a client whose connections do.
func (c *Client) handoverClient() *Client {
	if c.dialHandover == nil {
		return c
	}
	return NewClient(c.dialHandover)
}

// NewClient makes a client of the agent that dial leads to.
func NewClient(dial Dialer) *Client {
	c := &Client{dial: func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return dial(ctx)
	}}
	c.http = httpClient(&http.Transport{DialContext: c.open, DisableKeepAlives: true})
	c.stream = httpClient(&http.Transport{DialContext: c.open, DisableKeepAlives: true, ResponseHeaderTimeout: answerTimeout})
	return c
}

// open opens a connection for one question.
func (c *Client) open(ctx context.Context, _, _ string) (net.Conn, error) {
	raw, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newRequestConn(raw, make(chan struct{})), nil
}

// httpClient talks over t to the agent and to nobody else.
func httpClient(t *http.Transport) http.Client {
	t.DisableCompression = true
	return http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Status is the whole agent at one moment.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	if err = get(ctx, &c.http, "/v1/status", &s); err == nil && s.PID == 0 {
		err = unreadable(errNoStatus)
	}
	return s, err
}

// Devices is what the system says, and what becomes of it.
func (c *Client) Devices(ctx context.Context) (d Devices, err error) {
	return d, get(ctx, &c.http, "/v1/devices", &d)
}

// Timeline is what has happened in the last hours.
func (c *Client) Timeline(ctx context.Context) (t timeline.Timeline, err error) {
	return t, get(ctx, &c.http, "/v1/timeline", &t)
}

// Refresh has the agent read everything anew and send the whole list again.
func (c *Client) Refresh(ctx context.Context) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/refresh", nil, nil)
}

// Reload has the agent read settings and catalogue again. A *Problem says what is wrong with
// them; the old ones are in force then.
func (c *Client) Reload(ctx context.Context) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/reload", nil, nil)
}

// Pause has clients told nothing of what is known, for as long as r says.
func (c *Client) Pause(ctx context.Context, r PauseRequest) (p Pause, err error) {
	return p, ask(ctx, &c.http, http.MethodPost, "/v1/pause", r, &p)
}

// Resume ends the pause, if there is one.
func (c *Client) Resume(ctx context.Context) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/resume", nil, nil)
}

// Stop ends the agent in order. When it returns clients have been told.
func (c *Client) Stop(ctx context.Context) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/stop", nil, nil)
}

// StopEmpty is Stop that leaves no list in clients, whatever the settings say.
func (c *Client) StopEmpty(ctx context.Context) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/stop?list=empty", nil, nil)
}

// SetLogLevel changes the least level that the agent logs, until it ends.
func (c *Client) SetLogLevel(ctx context.Context, level string) error {
	text, err := json.Marshal(LogLevel{level})
	if err != nil {
		return err
	}
	return call(ctx, &c.http, http.MethodPost, "/v1/log-level", text, nil)
}

// Push says the state of a product for the time of its lease. One without a lease needs a PushConn.
func (c *Client) Push(ctx context.Context, product string, r PushRequest) (PushAnswer, error) {
	return put(ctx, &c.http, product, r)
}

// Metrics are counters, gauges and histograms in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	var text bytes.Buffer
	err := call(ctx, &c.http, http.MethodGet, "/v1/metrics", nil, &text)
	return text.Bytes(), err
}

// Bundle writes a zip archive for support to w.
func (c *Client) Bundle(ctx context.Context, w io.Writer) error {
	return call(ctx, &c.http, http.MethodGet, "/v1/bundle", nil, w)
}

// Watch calls on with the present state and then with every change, until ctx ends, on returns
// an error, or the agent ends (ErrEnded), and returns the reason. While on is at work changes
// are joined to one.
func (c *Client) Watch(ctx context.Context, on func(Change) error) error {
	whole, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	answer, err := send(whole, &c.stream, http.MethodGet, "/v1/watch", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	// The present state comes with the head of the answer: who says only that hangs.
	late := time.AfterFunc(answerTimeout, func() { cut(tooLate{context.DeadlineExceeded}) })
	defer late.Stop()
	err = eachLine(ctx, answer.Body, maxChange, func(line []byte) error {
		late.Stop()
		var change Change
		if err := json.Unmarshal(line, &change); err != nil {
			return unreadable(err)
		}
		if change.PID == 0 {
			return unreadable(errNoStatus)
		}
		return on(change)
	})
	if silent := context.Cause(whole); errors.Is(silent, ErrSilent) {
		return silent
	}
	return err
}

// Record calls on with every line of a recording, without its line break, until ctx ends, on
// returns an error, or the agent ends (ErrEnded), and returns the reason. When ctx ends the agent
// may still have lines to say; on gets them, and the last of all.
func (c *Client) Record(ctx context.Context, on func(line []byte) error) error {
	var conn net.Conn
	recording := httpClient(&http.Transport{
		DialContext: func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			conn, err = c.open(ctx, network, address)
			return conn, err
		},
		DisableKeepAlives:     true,
		ResponseHeaderTimeout: answerTimeout,
	})
	whole, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	stop := context.AfterFunc(ctx, cut)
	answer, err := send(whole, &recording, http.MethodGet, "/v1/record", nil)
	if !stop() {
		err = ctx.Err()
	}
	if answer != nil {
		defer answer.Body.Close()
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		// Anything behind the request ends the recording in order.
		time.AfterFunc(partingTimeout, cut)
		_, _ = conn.Write([]byte("\n"))
	})()
	return eachLine(ctx, answer.Body, maxAnswer, on)
}

// eachLine calls on with every line of an answer that has no end of its own. One that is cut off
// is left out.
func eachLine(ctx context.Context, answer io.Reader, limit int, on func(line []byte) error) error {
	lines := bufio.NewScanner(answer)
	lines.Buffer(nil, limit)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		line, _, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return 0, nil, nil
		}
		return len(line) + 1, line, nil
	})
	for lines.Scan() {
		if err := on(lines.Bytes()); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return unreadable(lines.Err())
	}
	return ErrEnded
}

func get(ctx context.Context, c *http.Client, path string, into any) error {
	var body bytes.Buffer
	if err := call(ctx, c, http.MethodGet, path, nil, &body); err != nil {
		return err
	}
	if err := json.Unmarshal(body.Bytes(), into); err != nil {
		return unreadable(err)
	}
	return nil
}

func put(ctx context.Context, c *http.Client, product string, r PushRequest) (a PushAnswer, err error) {
	return a, ask(ctx, c, http.MethodPut, "/v1/states/"+url.PathEscape(product), r, &a)
}

// ask sends a request that has a body, and reads the answer.
func ask(ctx context.Context, c *http.Client, method, path string, request, into any) error {
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	if err := call(ctx, c, method, path, text, &body); err != nil {
		return err
	}
	if err := json.Unmarshal(body.Bytes(), into); err != nil {
		return unreadable(err)
	}
	return nil
}

// call sends a request and copies what is answered to into, if there is an answer.
func call(ctx context.Context, c *http.Client, method, path string, body []byte, into io.Writer) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	answer, err := send(ctx, c, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if into == nil {
		into = io.Discard
	}
	n, err := io.Copy(into, io.LimitReader(answer.Body, maxAnswer+1))
	if err == nil && n > maxAnswer {
		return unreadable(fmt.Errorf("more than %d bytes", maxAnswer))
	}
	if err != nil {
		return fmt.Errorf("the agent's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// send returns an answer of success; its body is to be closed.
func send(ctx context.Context, c *http.Client, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://sidetone"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.Do(request)
	if err != nil {
		return nil, failure(err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	p := &Problem{Status: answer.StatusCode}
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil || json.Unmarshal(said, p) != nil || p.Code == "" {
		p.Message = "the agent answers " + answer.Status
		return nil, unreadable(p)
	}
	return nil, p
}

// Unreachable is what an error of a Client that has asked an agent means to a user.
func Unreachable(err error) health.Condition {
	c := health.Condition{Severity: health.Problem}
	switch {
	case errors.Is(err, ErrNotRunning):
		c.Code = health.AgentNotRunning
	case errors.Is(err, ErrSilent):
		c.Code = health.AgentSilent
	case errors.Is(err, errUnreadable):
		c.Code = health.AgentUnreadable
	default:
		c.Code, c.Args = health.AgentUnreachable, health.Args{"reason": fmt.Sprint(err)}
	}
	return c
}

// failure says what it means that there is no answer.
func failure(err error) error {
	var detail *url.Error
	if errors.As(err, &detail) {
		err = detail.Err // without method and address, which the user did not choose
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w (%w)", ErrNotRunning, err)
	}
	if late, ok := errors.AsType[net.Error](err); ok && late.Timeout() {
		return tooLate{err}
	}
	return fmt.Errorf("ask the agent: %w", err)
}

// tooLate is ErrSilent for people, and its cause for programs.
type tooLate struct{ cause error }

func (tooLate) Error() string     { return ErrSilent.Error() }
func (e tooLate) Unwrap() []error { return []error{ErrSilent, e.cause} }

func unreadable(err error) error {
	return fmt.Errorf("%w: %w; agent and this program may be of different versions, or it is another program's", errUnreadable, err)
}

// bounded gives ctx a deadline if it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, has := ctx.Deadline(); has {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, askTimeout)
}

// requestConn is a connection on which an answer may come before the question is sent, as it does
// where the agent has too many connections. net/http would not know what it belongs to.
type requestConn struct {
	net.Conn
	asked  chan struct{} // closed when the question is being sent
	closed chan struct{}
	begun  bool // the first bytes of the answer were read
	ask    func()
	close  func()
}

func newRequestConn(raw net.Conn, closed chan struct{}) *requestConn {
	c := &requestConn{Conn: raw, asked: make(chan struct{}), closed: closed}
	c.ask = sync.OnceFunc(func() { close(c.asked) })
	c.close = sync.OnceFunc(func() { close(c.closed) })
	return c
}

// Read waits until something is asked. What answers in no way that net/http knows is no agent.
func (c *requestConn) Read(b []byte) (int, error) {
	select {
	case <-c.asked:
	case <-c.closed:
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	if begin := "HTTP/"; n > 0 && !c.begun && !strings.HasPrefix(begin, string(b[:min(n, len(begin))])) {
		return 0, unreadable(errors.New("it is no HTTP"))
	}
	c.begun = c.begun || n > 0
	return n, err
}

// Write does not fail: where it does, Read has the answer that was given instead of listening,
// or the error.
func (c *requestConn) Write(b []byte) (int, error) {
	c.ask()
	_, _ = c.Conn.Write(b)
	return len(b), nil
}

func (c *requestConn) Close() error {
	err := c.Conn.Close()
	c.close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
