package fakeserver

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Options configure a server. The zero value stands in for the documented
// client, on the first free port of 6463..6473. A server listens on 127.0.0.1
// and nowhere else.
type Options struct {
	// Profile is the program to stand in for; empty means [Documented].
	Profile Profile
	// Name tells the server from others, such as "PTB". It may be empty.
	Name string
	// Ports are tried in order and the first free one is bound; 0 means any
	// free port. Empty means the documented range 6463..6473, and for [Desktop],
	// [ArRPC] and [Flaky] the range of the real client, 6463..6472.
	Ports []int
	// NoTCP leaves only IPC, like a client that could not open any port because
	// Windows reserves them all.
	NoTCP bool
	// IPCDir is the folder in which the first free socket of discord-ipc-0..9
	// is bound; empty means no IPC. On Windows, where sockets are named pipes, it
	// is the prefix of their names: \\.\pipe for those of the real client. [Squatter]
	// never has IPC.
	IPCDir string
	// Network is where the server listens; nil means this machine's loopback
	// interface and file system.
	Network Network
	// ClientIDs are the application ids the server knows. Empty means that any
	// snowflake (17 to 20 decimal digits) is known.
	ClientIDs []string
	// NoFingerprint follows the written specification and nothing else: any
	// request but POST /rpc is answered by a 404 without the client's JSON body.
	NoFingerprint bool
	// NoWebSocket and NoHTTP switch a transport off: its requests are answered 404.
	NoWebSocket, NoHTTP bool
	// Origins are the origins registered for the application. If not nil, a
	// WebSocket needs one of them (else close code 4001), and an HTTP request
	// with any other is refused (400, code 4001). If nil, any origin or none is
	// accepted, as documented; [Desktop] and [Flaky] then have none registered,
	// so they close every WebSocket, and they refuse the command with code 4006
	// even from a registered origin.
	Origins []string
	// Bucket is how many HTTP POSTs, WebSocket connects and IPC handshakes of
	// one client id are let through at once; the rest wait in line. 0 means the
	// profile's default (2 for [Desktop] and [Flaky], else no limit), -1 no limit.
	Bucket int
	// Refill is the time after which one more is let through. 0 means 30 s.
	Refill time.Duration
	// Seed determines the faults of [Flaky].
	Seed uint64
	// StateFile keeps the accepted lists across restarts of the process, as JSON.
	// [Start] reads it, and every accepted list is written to it. Empty means
	// memory only.
	StateFile string
	// Fault is active from the start; see [Server.SetFault].
	Fault Fault
	// Refuse, if not nil, returns why the program refuses a list that is valid, and
	// refuses it with code 4000; "" accepts it. It is called like OnPayload.
	Refuse func([]Device) (reason string)
	// KeepPayloads is how many payloads are kept for [Server.Payloads], up to
	// 256 MiB in total; the oldest are dropped first. 0 means 100000.
	KeepPayloads int
	// Logger gets refused connections at level info, failures to write the state
	// file at level error and the rest at level debug. nil discards.
	Logger *slog.Logger
	// OnPayload is called with every payload, one at a time and in order,
	// before it is answered. It may query the server and set any fault but
	// FaultRefuse; it must not stop or close the server.
	OnPayload func(Payload)
}

// Check returns the error that [Start] would return for invalid options.
func (o Options) Check() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults fills in the defaults. The error names the invalid option.
func (o Options) withDefaults() (Options, error) {
	o.Profile = cmp.Or(o.Profile, Documented)
	if _, err := ParseProfile(string(o.Profile)); err != nil {
		return o, err
	}
	if o.Profile == Squatter {
		o.IPCDir = ""
	}
	defaults := o.Profile.limits()
	if len(o.Ports) == 0 {
		for port := 6463; port <= defaults.lastPort; port++ {
			o.Ports = append(o.Ports, port)
		}
	}
	if o.Origins == nil && o.Profile.isDesktop() {
		o.Origins = []string{}
	}
	o.Bucket = cmp.Or(o.Bucket, defaults.bucket)
	o.Refill = cmp.Or(o.Refill, 30*time.Second)
	o.KeepPayloads = cmp.Or(o.KeepPayloads, 100_000)
	o.Network = cmp.Or[Network](o.Network, thisMachine{})
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o, o.check()
}

func (o Options) check() error {
	if err := checkPorts(o.Ports); err != nil {
		return err
	}
	for _, id := range o.ClientIDs {
		if !isSnowflake(id) {
			return fmt.Errorf("client id %q: not a snowflake (17 to 20 decimal digits)", id)
		}
	}
	switch {
	case o.NoTCP && o.IPCDir == "":
		return errors.New("no transport left: neither TCP nor IPC")
	case o.NoWebSocket && o.NoHTTP && o.IPCDir == "":
		return errors.New("no transport left: WebSocket and HTTP are both switched off")
	case o.Bucket < -1:
		return fmt.Errorf("bucket %d: want how many are let through at once, or -1 for no limit", o.Bucket)
	case o.Refill < 0:
		return fmt.Errorf("refill %s: below zero", o.Refill)
	case o.KeepPayloads < 0:
		return fmt.Errorf("cannot keep %d payloads", o.KeepPayloads)
	}
	return o.Fault.check()
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
	switch {
	case o.Profile == ArRPC:
		return id != ""
	case len(o.ClientIDs) == 0:
		return isSnowflake(id)
	}
	return slices.Contains(o.ClientIDs, id)
}

func (o Options) allowsOrigin(origin string) bool {
	return o.Origins == nil || slices.Contains(o.Origins, origin)
}

func isSnowflake(s string) bool {
	return len(s) >= 17 && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
