package fakeserver

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

const (
	firstPort = 6463
	lastPort  = 6473

	defaultKeep = 100_000
)

// Options says what kind of client to stand in for. The zero value is the
// client as documented, on the first free port of 6463..6473. The server
// always listens on 127.0.0.1 and nowhere else.
type Options struct {
	// Ports are tried in order and the first free one is bound; 0 means any
	// free port. Empty means the documented range 6463..6473.
	Ports []int
	// ClientIDs are the application ids the server knows. Empty means that any
	// snowflake (17 to 20 decimal digits) is known.
	ClientIDs []string
	// NoFingerprint makes a server that follows the written specification and
	// nothing else: a path other than POST /rpc is answered by a 404 that does
	// not bear the client's body.
	NoFingerprint bool
	// NoWebSocket and NoHTTP switch a transport off: its requests are answered 404.
	NoWebSocket, NoHTTP bool
	// Origins are the origins registered for the application. When not nil, a
	// WebSocket needs one of them (else close code 4001), and an HTTP request
	// that bears another one is refused (400, code 4001). When nil, any origin
	// or none is accepted, as documented.
	Origins []string
	// Fault is active from the start; see [Server.SetFault].
	Fault Fault
	// KeepPayloads is how many payloads are kept for [Server.Payloads], at most
	// 256 MiB of them in all; the oldest are forgotten first. 0 means 100000.
	KeepPayloads int
	// Logger gets refused connections at level info and the rest at level
	// debug. nil discards.
	Logger *slog.Logger
	// OnPayload is called with every payload, one at a time and in order,
	// before the payload is answered. It may ask the server anything and set
	// faults other than FaultRefuse, but must not stop or close it.
	OnPayload func(Payload)
}

// Check says what makes no sense in the options, as [Start] would.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults returns the options with every default filled in, or an error
// that names the option that makes no sense.
func (o Options) withDefaults() (Options, error) {
	if len(o.Ports) == 0 {
		for port := firstPort; port <= lastPort; port++ {
			o.Ports = append(o.Ports, port)
		}
	}
	if err := checkPorts(o.Ports); err != nil {
		return o, err
	}
	for _, id := range o.ClientIDs {
		if !isSnowflake(id) {
			return o, fmt.Errorf("client id %q: not a snowflake (17 to 20 decimal digits)", id)
		}
	}
	if o.NoWebSocket && o.NoHTTP {
		return o, errors.New("no transport left: WebSocket and HTTP are both switched off")
	}
	if o.KeepPayloads < 0 {
		return o, fmt.Errorf("cannot keep %d payloads", o.KeepPayloads)
	}
	if o.KeepPayloads == 0 {
		o.KeepPayloads = defaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, o.Fault.check()
}

func checkPorts(ports []int) error {
	for _, port := range ports {
		if port < 0 || port > 65535 {
			return fmt.Errorf("port %d: not between 0 and 65535", port)
		}
	}
	return nil
}

func (o Options) knowsClient(id string) bool {
	if len(o.ClientIDs) == 0 {
		return isSnowflake(id)
	}
	return slices.Contains(o.ClientIDs, id)
}

func (o Options) allowsOrigin(origin string) bool {
	return o.Origins == nil || slices.Contains(o.Origins, origin)
}

func isSnowflake(s string) bool {
	if len(s) < 17 || len(s) > 20 {
		return false
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}
