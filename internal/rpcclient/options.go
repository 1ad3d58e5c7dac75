package rpcclient

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"time"

	"sidetone/internal/rpcclient/policy"
)

type (
	// Selection says whom to report to.
	Selection = policy.Selection
	// Transport is a way to talk to a client.
	Transport = policy.Transport
	// ExitPolicy says what an orderly end leaves in the client (rule R53).
	ExitPolicy = policy.Exit
)

// The words of these settings.
const (
	FirstClient = policy.FirstClient
	IPC         = policy.IPC
	WebSocket   = policy.WebSocket
	HTTP        = policy.HTTP
	ExitClear   = policy.ExitClear
	ExitUnmute  = policy.ExitUnmute
	ExitLeave   = policy.ExitLeave
)

// Options configure a Client. What is zero takes the default of DefaultOptions.
type Options struct {
	ClientID   string
	Origin     string // sent on WebSocket only; "" = none (rules R19, R24)
	Clients    Selection
	Transports []Transport // in order of preference
	Ports      []int       // in order of preference; none are searched unless they are given
	Local      Local
	// DialPort connects to a port of 127.0.0.1; nil is this machine's.
	DialPort      func(ctx context.Context, port int) (net.Conn, error)
	ProbeTimeout  time.Duration // how long finding out what a port is may hold up others
	AnswerTimeout time.Duration // for READY, and for an answer over IPC and WebSocket (rule R48)
	HTTPTimeout   time.Duration // for whatever the client may make us queue for (rule R67)
	Tokens        int           // how many connects and HTTP requests the client lets through at once (rule R67)
	TokenEvery    time.Duration // and how long it takes to allow one more
	RetryMax      time.Duration // longest wait between two searches (rule R72)
	RefusedWait   time.Duration // shortest wait after a client refused to talk (rule R45)
	ResendEvery   time.Duration // 0: never; else the list is sent again after that time (rule R90)
	OnExit        ExitPolicy
	StopTimeout   time.Duration // for the farewell (rule R53)
	OnDelivery    func(Delivery)
	OnEvent       func(Event, Transport) // may be called by several goroutines at a time; it must not wait
	Jitter        func() float64         // for what waits are lengthened by, in [0, 1); nil: by chance
	Log           *slog.Logger
}

// DefaultOptions are the settings that the protocol suggests.
var DefaultOptions = Options{
	Clients:       policy.AllClients,
	Transports:    policy.Transports,
	Local:         noLocal{},
	DialPort:      dialLoopback,
	ProbeTimeout:  policy.ProbeTimeout,
	AnswerTimeout: policy.AnswerTimeout,
	HTTPTimeout:   policy.HTTPTimeout,
	Tokens:        policy.Tokens,
	TokenEvery:    policy.TokenEvery,
	RetryMax:      policy.RetryMax,
	RefusedWait:   30 * time.Second,
	OnExit:        policy.ExitClear,
	StopTimeout:   500 * time.Millisecond,
}

const (
	retryFirst   = 250 * time.Millisecond
	refusedFirst = time.Second     // first wait after a refused list (rule R44)
	refusedMax   = 5 * time.Minute // and the longest
	probeFirst   = time.Second     // first wait before a port's owner is asked again for a proof
	probeMax     = time.Minute     // and the longest
)

// answerLimits are those of answers over the transport.
func (o *Options) answerLimits(over Transport) limits {
	t := limits{overdue: o.AnswerTimeout, silent: o.AnswerTimeout, hung: o.HTTPTimeout}
	if over == HTTP {
		t.silent = o.HTTPTimeout
	}
	return t
}

func (o Options) withDefaults() Options {
	d := DefaultOptions
	if len(o.Transports) == 0 {
		o.Transports = d.Transports
	}
	if o.DialPort == nil {
		o.DialPort = d.DialPort
	}
	if o.Jitter == nil {
		o.Jitter = rand.Float64
	}
	if o.OnDelivery == nil {
		o.OnDelivery = func(Delivery) {}
	}
	if o.OnEvent == nil {
		o.OnEvent = func(Event, Transport) {}
	}
	o.Clients, o.OnExit = cmp.Or(o.Clients, d.Clients), cmp.Or(o.OnExit, d.OnExit)
	o.Local, o.Log = cmp.Or(o.Local, d.Local), cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.ProbeTimeout = cmp.Or(o.ProbeTimeout, d.ProbeTimeout)
	o.AnswerTimeout = cmp.Or(o.AnswerTimeout, d.AnswerTimeout)
	o.HTTPTimeout = cmp.Or(o.HTTPTimeout, d.HTTPTimeout)
	o.Tokens = cmp.Or(o.Tokens, d.Tokens)
	o.TokenEvery = cmp.Or(o.TokenEvery, d.TokenEvery)
	o.RetryMax = cmp.Or(o.RetryMax, d.RetryMax)
	o.RefusedWait = cmp.Or(o.RefusedWait, d.RefusedWait)
	o.StopTimeout = cmp.Or(o.StopTimeout, d.StopTimeout)
	return o
}

// backoff is a new one that goes by the chance of the options.
func (o Options) backoff(first, ceiling time.Duration) *backoff {
	return &backoff{first: min(first, ceiling), max: ceiling, jitter: o.Jitter}
}
