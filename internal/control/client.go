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

// ErrSilent means that the agent accepts connections and never answers: it hangs, or was stopped, for example by Ctrl-Z or a debugger.
var ErrSilent = errors.New("the agent does not answer: it hangs, or was stopped (kill -STOP); " +
	"end it and start it again, or let it go on (kill -CONT)")

// ErrEnded means that the agent has ended a watch, a recording or a PushConn, as it does when it stops.
var ErrEnded = errors.New("the agent has ended the connection: it has stopped, or is about to")

// errUnreadable means that whatever answers at the agent's address does not answer as an agent of this version would.
var errUnreadable = errors.New("the agent's answer cannot be read")

// errNoStatus means that an answer lacks the process id, which every agent sends.
var errNoStatus = errors.New("it is no status")

const (
	// dialTimeout bounds the opening of a connection.
	dialTimeout = 3 * time.Second
	// askTimeout bounds a request whose context has no deadline. The agent takes milliseconds. A caller that gives up does not know
	// whether its request has taken effect.
	askTimeout = 3 * time.Second
	// answerTimeout is how long the head of an endless answer may take, and then the present state.
	answerTimeout = 3 * time.Second
	// partingTimeout is how long the last lines of a recording may take.
	partingTimeout = 15 * time.Second
	// maxAnswer bounds an answer, or a line of a recording, in bytes.
	maxAnswer = 16 << 20
	// maxChange bounds a line of a watch, which a tray keeps in memory. A thousand headsets with everything wrong that can be take 3 MiB.
	maxChange = 4 << 20
)

// Client sends requests to an agent. Each call has a connection of its own and ends with its context, or after a few seconds if that has
// no deadline. Errors: *Problem if the agent refuses, ErrNotRunning if there is none, ErrSilent if it does not answer in time,
// errUnreadable if something else answers. It is safe for concurrent use and needs no closing.
type Client struct {
	http   http.Client
	stream http.Client // for endless answers
	dial   Dialer
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

// open opens a connection for one request.
func (c *Client) open(ctx context.Context, _, _ string) (net.Conn, error) {
	raw, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	return newRequestConn(raw, make(chan struct{})), nil
}

// httpClient follows no redirects: it talks to the agent and to nobody else.
func httpClient(t *http.Transport) http.Client {
	t.DisableCompression = true
	return http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Status returns the whole agent at one moment.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	if err = c.get(ctx, "/v1/status", &s); err == nil && s.PID == 0 {
		err = unreadable(errNoStatus)
	}
	return s, err
}

// Devices returns what the system says, and what becomes of it.
func (c *Client) Devices(ctx context.Context) (d Devices, err error) {
	return d, c.get(ctx, "/v1/devices", &d)
}

// Timeline returns what has happened in the last hours.
func (c *Client) Timeline(ctx context.Context) (t timeline.Timeline, err error) {
	return t, c.get(ctx, "/v1/timeline", &t)
}

// Pause has clients told nothing of what is known, for as long as r says.
func (c *Client) Pause(ctx context.Context, r PauseRequest) (p Pause, err error) {
	return p, call(ctx, &c.http, http.MethodPost, "/v1/pause", r, &p)
}

// Resume ends the pause, if there is one.
func (c *Client) Resume(ctx context.Context) error { return c.post(ctx, "/v1/resume") }

// Stop ends the agent in order. When it returns clients have been told.
func (c *Client) Stop(ctx context.Context) error { return c.post(ctx, "/v1/stop") }

// StopEmpty is Stop that leaves no list in clients, whatever the settings say.
func (c *Client) StopEmpty(ctx context.Context) error { return c.post(ctx, "/v1/stop?list=empty") }

// MaxUpdate is how long Upgrade and StopForUpdate may take: a program shows that it starts, or each client has room for another
// connection.
const MaxUpdate = 45 * time.Second

// StopForUpdate ends the agent as for an update. When it returns, clients know their devices and no mute.
func (c *Client) StopForUpdate(ctx context.Context) error {
	return c.update(ctx, "/v1/stop?list=unmuted")
}

// Upgrade has the agent make way for its program as it is on disk now. When it returns, that program has shown that it starts, and the
// agent is about to end. A *Problem says why not; then the agent goes on.
func (c *Client) Upgrade(ctx context.Context) error {
	return c.update(ctx, "/v1/upgrade")
}

// update sends a request whose answer may take long. An agent that hangs is noticed before that: it would do as it is told once it goes on,
// when nobody waits for that any more.
func (c *Client) update(ctx context.Context, path string) error {
	if _, err := c.Status(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, MaxUpdate)
	defer cancel()
	return c.post(ctx, path)
}

// SetLogLevel changes the lowest level that the agent logs, until it ends.
func (c *Client) SetLogLevel(ctx context.Context, level string) error {
	return call(ctx, &c.http, http.MethodPost, "/v1/log-level", LogLevel{level}, nil)
}

// Push sets the state of a product for the time of its lease. One without a lease needs a PushConn.
func (c *Client) Push(ctx context.Context, product string, r PushRequest) (PushAnswer, error) {
	return push(ctx, &c.http, product, r)
}

// Bundle writes a zip archive for support to w.
func (c *Client) Bundle(ctx context.Context, w io.Writer) error { return c.get(ctx, "/v1/bundle", w) }

func (c *Client) get(ctx context.Context, path string, into any) error {
	return call(ctx, &c.http, http.MethodGet, path, nil, into)
}

func (c *Client) post(ctx context.Context, path string) error {
	return call(ctx, &c.http, http.MethodPost, path, nil, nil)
}

// Watch calls on with the present state and then with every change, until ctx ends, on returns
// an error, or the agent ends (ErrEnded), and returns the reason. Changes that happen while on runs
// are combined into one.
func (c *Client) Watch(ctx context.Context, on func(Change) error) error {
	whole, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	answer, err := send(whole, &c.stream, http.MethodGet, "/v1/watch", nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	// The present state comes with the head of the answer. An agent that sends only the head hangs.
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
// may still have lines to send; on gets them all, up to the last.
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
		// Anything sent after the request ends the recording in order.
		time.AfterFunc(partingTimeout, cut)
		_, _ = conn.Write([]byte("\n"))
	})()
	return eachLine(ctx, answer.Body, maxAnswer, on)
}

// eachLine calls on with every line of an endless answer. A line that was cut off is left out.
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

func push(ctx context.Context, c *http.Client, product string, r PushRequest) (a PushAnswer, err error) {
	return a, call(ctx, c, http.MethodPut, "/v1/states/"+url.PathEscape(product), r, &a)
}

// call sends a request, with a value as its body of JSON if that is not nil, and puts the answer into an io.Writer as it is, or into
// anything else from JSON.
func call(ctx context.Context, c *http.Client, method, path string, body, into any) error {
	if _, has := ctx.Deadline(); !has {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, askTimeout)
		defer cancel()
	}
	response, err := send(ctx, c, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var whole bytes.Buffer
	out, raw := into.(io.Writer)
	if !raw {
		out = &whole
	}
	n, err := io.Copy(out, io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("the agent's answer to %s %s: %w", method, path, err)
	case n > maxAnswer:
		return unreadable(fmt.Errorf("more than %d bytes", maxAnswer))
	case raw || into == nil:
		return nil
	}
	if err := json.Unmarshal(whole.Bytes(), into); err != nil {
		return unreadable(err)
	}
	return nil
}

// send returns the response to a request that the agent grants. The caller closes its body.
func send(ctx context.Context, c *http.Client, method, path string, body any) (*http.Response, error) {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://sidetone"+path, bytes.NewReader(text))
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

// Unreachable returns what an error of a Client means to a user.
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

// failure says what it means that a request got no answer.
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

// tooLate reads as ErrSilent, and wraps its cause as well.
type tooLate struct{ cause error }

func (tooLate) Error() string     { return ErrSilent.Error() }
func (e tooLate) Unwrap() []error { return []error{ErrSilent, e.cause} }

func unreadable(err error) error {
	return fmt.Errorf("%w: %w; agent and this program may be of different versions, or it is another program's", errUnreadable, err)
}

// requestConn is a connection on which an answer may come before the request is sent, as it does
// where the agent has too many connections. net/http would not know which request it belongs to.
type requestConn struct {
	net.Conn
	ask    func()          // is called when the request is being sent
	asked  <-chan struct{} // closed by ask
	close  func()
	closed <-chan struct{} // closed by close
	begun  bool            // the first bytes of the answer have been read
}

func newRequestConn(raw net.Conn, closed chan struct{}) *requestConn {
	asked := make(chan struct{})
	return &requestConn{
		Conn: raw, asked: asked, closed: closed,
		ask: sync.OnceFunc(func() { close(asked) }), close: sync.OnceFunc(func() { close(closed) }),
	}
}

// Read waits until a request is sent. A peer whose answer net/http would not understand is no agent.
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

// Write never fails: if the peer no longer listens, Read returns the answer that it gave instead, or the error.
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
