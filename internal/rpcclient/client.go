// Package rpcclient finds the client's local RPC server and keeps its list of certified
// devices up to date. The numbered rules in comments are those of docs/protocol.md.
package rpcclient

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sidetone/internal/devices"
)

// Options configure a Client. Zero durations take the defaults of DefaultOptions.
type Options struct {
	ClientID      string
	Origin        string // sent on WebSocket only; "" = none (rules R19, R24)
	Ports         []int  // in order of preference
	Transport     Transport
	ProbeTimeout  time.Duration // for finding out who holds the ports, all of them together
	AnswerTimeout time.Duration // for READY, and for an answer over WebSocket (rule R48)
	HTTPTimeout   time.Duration // for an answer over HTTP, where the client may queue a request for long (rule R67)
	RetryMax      time.Duration // longest wait between two searches (rule R72)
	RefusedWait   time.Duration // shortest wait after a client refused to talk: it counts every try (rule R67)
	StopTimeout   time.Duration // for emptying the client's list at the end (rule R53)
	OnDelivery    func(Delivery)
	Log           *slog.Logger
}

// DefaultOptions are the settings that the protocol suggests.
var DefaultOptions = Options{
	Ports:         DefaultPorts,
	Transport:     Auto,
	ProbeTimeout:  time.Second,
	AnswerTimeout: 5 * time.Second,
	HTTPTimeout:   90 * time.Second,
	RetryMax:      5 * time.Second,
	RefusedWait:   30 * time.Second,
	StopTimeout:   500 * time.Millisecond,
}

const (
	retryFirst   = 250 * time.Millisecond
	refusedFirst = time.Second     // first wait after a refused list (rule R44)
	refusedMax   = 5 * time.Minute // and the longest
)

// Client reports snapshots to the running client.
type Client struct {
	opts Options
	box  *mailbox
	said map[string]bool // what was logged since the last delivery; owned by Run

	mu     sync.Mutex
	status Status
}

// New returns a Client that does nothing before Run.
func New(opts Options) *Client {
	d := DefaultOptions
	if len(opts.Ports) == 0 {
		opts.Ports = d.Ports
	}
	for _, f := range []struct {
		v   *time.Duration
		def time.Duration
	}{
		{&opts.ProbeTimeout, d.ProbeTimeout},
		{&opts.AnswerTimeout, d.AnswerTimeout},
		{&opts.HTTPTimeout, d.HTTPTimeout},
		{&opts.RetryMax, d.RetryMax},
		{&opts.StopTimeout, d.StopTimeout},
		{&opts.RefusedWait, d.RefusedWait},
	} {
		if *f.v == 0 {
			*f.v = f.def
		}
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.OnDelivery == nil {
		opts.OnDelivery = func(Delivery) {}
	}
	return &Client{opts: opts, box: newMailbox(), said: make(map[string]bool), status: Status{State: Searching}}
}

// Publish makes s the list to report. It never blocks; only the newest matters.
func (c *Client) Publish(s devices.Snapshot) { c.box.put(s) }

// Resend sends the whole list again even if nothing changed, as after a resume (rule R52).
func (c *Client) Resend() { c.box.askResend() }

// Status returns the present state.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

func (c *Client) update(f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.status)
}

// Run looks for a client, serves it, and starts over when it goes, until ctx ends. Then it
// empties the client's list, within StopTimeout, and returns (rules R3, R53).
func (c *Client) Run(ctx context.Context) {
	retry := newBackoff(retryFirst, c.opts.RetryMax)
	for ctx.Err() == nil {
		p, err := scan(ctx, c.opts.ProbeTimeout, c.opts.Ports, c.self(), c.opts.Transport.order())
		if err == nil {
			err = c.serve(ctx, p, retry)
		}
		if ctx.Err() != nil {
			break
		}
		wait := retry.wait()
		if refusesToTalk(err) {
			wait = max(wait, c.opts.RefusedWait)
		}
		c.failed(err, wait)
		sleep(ctx, wait)
	}
	c.update(func(s *Status) { *s = Status{State: Stopped} })
}

func (c *Client) self() target { return target{clientID: c.opts.ClientID, origin: c.opts.Origin} }

// refusesToTalk is true after an answer that will be the same for a while. A normal close is
// none: a client says that at its login screen.
func refusesToTalk(err error) bool {
	var refusal *Error
	return errors.As(err, &refusal) && refusal.Phase == PhaseConnect && refusal.Code != CodeClosed
}

// failed records why there is no session.
func (c *Client) failed(err error, wait time.Duration) {
	var refusal *Error
	state := Searching
	if errors.As(err, &refusal) {
		state = Refused
	}
	c.update(func(s *Status) {
		*s = Status{State: state, NextTry: time.Now().Add(wait), Error: err.Error(), Remedy: Remedy(err)}
	})
	c.once("no client to report to", "reason", err, "remedy", Remedy(err))
}

// maxSaid ends the telling of one long trouble, in which each error may differ by a port.
const maxSaid = 50

// once logs what was not logged since the last delivery: trying again and again is no news.
func (c *Client) once(msg string, args ...any) {
	line := fmt.Sprint(append([]any{msg}, args...)...)
	if !c.said[line] && len(c.said) < maxSaid {
		c.said[line] = true
		c.opts.Log.Info(msg, args...)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// serve reports to p until that ends, over the first transport that p accepts.
func (c *Client) serve(ctx context.Context, p *peer, retry *backoff) error {
	c.update(func(s *Status) { *s = Status{State: Connecting, Port: p.port} })
	c.once("client found", "port", p.port, "proof", p.proof)
	var err error
	for _, tr := range p.transports(c.opts.Transport) {
		l := p.link
		p.link = nil
		if l == nil {
			if l, err = c.open(ctx, p.target, tr); err != nil {
				if ctx.Err() != nil || !givesWay(err) {
					return err
				}
				c.once("transport not usable", "transport", tr, "port", p.port, "reason", err, "remedy", Remedy(err))
				continue
			}
		}
		var worked bool
		worked, err = c.hold(ctx, l, tr, p.port, retry)
		if ctx.Err() != nil || worked || !givesWay(err) {
			return err // one that worked gets another chance: the next best may be far worse
		}
		c.once("transport given up", "transport", tr, "port", p.port, "reason", err, "remedy", Remedy(err))
	}
	return err
}

// transports are those to try on p: what proved it to be a client has shown which works.
func (p *peer) transports(t Transport) []Transport {
	switch p.proof {
	case ProofAnswer:
		return []Transport{HTTP}
	default:
		return t.order()
	}
}

func (c *Client) open(ctx context.Context, t target, tr Transport) (link, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.AnswerTimeout)
	defer cancel()
	if tr == HTTP {
		return orNil(openHTTP(ctx, t, c.opts.Transport.order()))
	}
	return orNil(openWebSocket(ctx, t))
}

// orNil keeps a nil pointer from becoming a link that is not nil.
func orNil[L link](l L, err error) (link, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// givesWay reports whether another transport of the same client is worth a try after err
// (rules R19 to R21, R48).
func givesWay(err error) bool {
	var refusal *Error
	if errors.As(err, &refusal) {
		switch refusal.Code {
		case CodeInvalidOrigin, CodeRateLimited, CodeInvalidEncoding:
			return refusal.Phase == PhaseConnect
		default:
			return refusal.Code == CodeNotAuthorized
		}
	}
	return !errors.Is(err, ErrLost)
}

// hold runs a session on l to its end and closes l; worked says that it has delivered. When
// ctx has ended it first empties the client's list.
func (c *Client) hold(ctx context.Context, l link, tr Transport, port int, retry *backoff) (worked bool, err error) {
	defer l.close()
	start := time.Now()
	c.update(func(s *Status) { *s = Status{State: Connecting, Transport: tr, Port: port} })
	c.once("connected", "transport", tr, "port", port)
	s := &session{
		link: l, transport: tr, port: port, box: c.box, timeout: c.opts.AnswerTimeout,
		retry: newBackoff(refusedFirst, refusedMax),
		delivered: func(d Delivery) {
			c.update(func(s *Status) {
				*s = Status{State: Ready, Transport: tr, Port: port, Generation: d.Snapshot.Generation, Delivered: time.Now(), Devices: len(d.Snapshot.Devices)}
			})
			clear(c.said)
			c.opts.OnDelivery(d)
			// Only a session that lasts proves that the client is well: one that ends after
			// each list must not be reopened at full speed.
			if time.Since(start) > c.opts.RetryMax {
				retry.reset()
			}
		},
		holds: func(generation uint64) { c.update(func(s *Status) { s.Generation = generation }) },
		refused: func(err error, next time.Duration) {
			c.update(func(s *Status) {
				s.State, s.NextTry, s.Error, s.Remedy = Refused, time.Now().Add(next), err.Error(), Remedy(err)
			})
			c.opts.Log.Warn("list refused", "transport", tr, "port", port, "reason", err, "remedy", Remedy(err), "again in", next)
		},
	}
	if tr == HTTP {
		s.timeout = c.opts.HTTPTimeout
	}
	err = s.run(ctx)
	if time.Since(start) > c.opts.RetryMax {
		retry.reset()
	}
	if ctx.Err() != nil {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.StopTimeout)
		defer cancel()
		if err := s.farewell(bye); err != nil {
			c.opts.Log.Warn("the client keeps the last list: it could not be emptied", "reason", err)
		}
	}
	return !s.first, err
}
