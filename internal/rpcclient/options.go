package rpcclient

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"reflect"
	"time"

	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/rpcclient/session"
)

type (
	// Selection says which clients to report to.
	Selection = policy.Selection
	// Transport is a way to talk to a client.
	Transport = policy.Transport
	// ExitPolicy says what an orderly stop leaves in the client (rule R53).
	ExitPolicy = policy.Exit
)

// Values of these settings.
const (
	FirstClient = policy.FirstClient
	IPC         = policy.IPC
	WebSocket   = policy.WebSocket
	HTTP        = policy.HTTP
	ExitClear   = policy.ExitClear
	ExitUnmute  = policy.ExitUnmute
	ExitLeave   = policy.ExitLeave
)

// Delivery is one list that a client has accepted.
type Delivery struct {
	To Address
	session.Delivery
}

// Options configure a Client. DefaultOptions replaces zero values.
type Options struct {
	ClientID   string
	Origin     string // sent on WebSocket only; "" = none (rules R19, R24)
	Clients    Selection
	Transports []Transport // in order of preference
	Ports      []int       // to search, in order of preference; none by default
	Local      Local
	// DialPort connects to a port of 127.0.0.1.
	DialPort      func(ctx context.Context, port int) (net.Conn, error)
	ProbeTimeout  time.Duration // how long identifying the owner of a port may delay other clients
	AnswerTimeout time.Duration // for READY, and for an answer over IPC and WebSocket (rule R48)
	HTTPTimeout   time.Duration // for anything that the client may make us queue for (rule R67)
	Tokens        int           // how many connects and HTTP requests the client lets through at once (rule R67)
	TokenEvery    time.Duration // time until the client grants another token
	RetryMax      time.Duration // longest wait between two searches (rule R72)
	RefusedWait   time.Duration // shortest wait after the client refused to talk (rule R45)
	ResendEvery   time.Duration // interval at which the list is sent again (rule R90); 0: never
	OnExit        ExitPolicy
	StopTimeout   time.Duration // for the farewell (rule R53)
	Memory        Store         // of what clients have answered; nil: it ends with this process
	OnDelivery    func(Delivery)
	OnEvent       func(Event, Transport) // must not block; may be called concurrently
	Jitter        func() float64         // a number in [0, 1) that decides how much waits are lengthened
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
	OnDelivery:    func(Delivery) {},
	OnEvent:       func(Event, Transport) {},
	Jitter:        rand.Float64,
	Log:           slog.New(slog.DiscardHandler),
}

const (
	retryFirst  = 250 * time.Millisecond
	refusedMax  = 5 * time.Minute         // longest wait after a refusal
	relayMax    = 1500 * time.Millisecond // longest wait, less jitter, before a relay is tried that has lost its client
	relaySeldom = 30 * time.Second        // the same once it had none for quickSearchFor
	probeFirst  = time.Second             // first wait before the owner of a port is probed again
	probeMax    = time.Minute             // longest wait between two probes
)

// answerLimits returns how long answers may take over the transport.
func (o *Options) answerLimits(over Transport) session.Limits {
	t := session.Limits{Overdue: o.AnswerTimeout, Silent: o.AnswerTimeout, Hung: o.HTTPTimeout}
	if over == HTTP {
		t.Silent = o.HTTPTimeout
	}
	return t
}

func (o Options) withDefaults() Options {
	fields, defaults := reflect.ValueOf(&o).Elem(), reflect.ValueOf(DefaultOptions)
	for i := range fields.NumField() {
		if f := fields.Field(i); f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			f.Set(defaults.Field(i))
		}
	}
	return o
}

// backoff returns a new backoff that uses the options' jitter.
func (o Options) backoff(first, ceiling time.Duration) *link.Backoff {
	return link.NewBackoff(first, ceiling, o.Jitter)
}
