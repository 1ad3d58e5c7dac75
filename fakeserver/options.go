package fakeserver

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

const (
	firstPort    = 6463
	lastPort     = 6473
	lastRealPort = 6472

	defaultKeep   = 100_000
	defaultRefill = 30 * time.Second
)

// Options says what kind of client to stand in for. The zero value is the
// client as documented, on the first free port of 6463..6473. The server
// always listens on 127.0.0.1 and nowhere else.
type Options struct {
	// Profile is the program to play; empty means [Documented].
	Profile Profile
	// Name labels the server among others, such as "PTB". It may be empty.
	Name string
	// Ports are tried in order and the first free one is bound; 0 means any
	// free port. Empty means the documented range 6463..6473, and for [Desktop],
	// [ArRPC] and [Flaky] the range of the real client, 6463..6472.
	Ports []int
	// NoTCP makes a client that could open no port at all, as happens where
	// Windows reserves them: only IPC is left.
	NoTCP bool
	// IPCDir is the folder in which the first free socket of discord-ipc-0..9
	// is bound; empty means no IPC. On Windows, where sockets are named pipes, it
	// is how their names begin: \\.\pipe for those of the real client. [Squatter]
	// never has IPC.
	IPCDir string
	// Network is where the server listens; nil means this machine's loopback
	// interface and file system.
	Network Network
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
	// or none is accepted, as documented; for [Desktop] and [Flaky], none is
	// registered then, so that every WebSocket is closed. With these two, the
	// command fails with code 4006 where an origin was sent that is registered.
	Origins []string
	// Bucket is how many HTTP POSTs, WebSocket connects and IPC handshakes of
	// one client id are let through at once; those above wait in line. 0 means
	// as the profile has it (2 for [Desktop] and [Flaky], else no limit), -1 no limit.
	Bucket int
	// Refill is the time after which one more is let through. 0 means 30 s.
	Refill time.Duration
	// Seed determines the faults of [Flaky].
	Seed uint64
	// StateFile keeps the accepted lists over the end of the process, as JSON.
	// It is read by [Start] and written whenever a list is accepted. Empty means
	// memory only.
	StateFile string
	// Fault is active from the start; see [Server.SetFault].
	Fault Fault
	// KeepPayloads is how many payloads are kept for [Server.Payloads], at most
	// 256 MiB of them in all; the oldest are forgotten first. 0 means 100000.
	KeepPayloads int
	// Logger gets refused connections at level info, a state file that cannot
	// be written at level error and the rest at level debug. nil discards.
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
	if o.Profile == "" {
		o.Profile = Documented
	}
	if _, err := ParseProfile(string(o.Profile)); err != nil {
		return o, err
	}
	if o.Profile == Squatter {
		o.IPCDir = ""
	}
	if len(o.Ports) == 0 {
		for port := firstPort; port <= o.Profile.lastPort(); port++ {
			o.Ports = append(o.Ports, port)
		}
	}
	if o.Origins == nil && o.Profile.isDesktop() {
		o.Origins = []string{}
	}
	if o.Bucket == 0 {
		o.Bucket = o.Profile.bucket()
	}
	if o.Refill == 0 {
		o.Refill = defaultRefill
	}
	if o.KeepPayloads == 0 {
		o.KeepPayloads = defaultKeep
	}
	if o.Network == nil {
		o.Network = thisMachine{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, o.check()
}

// check says what makes no sense in options whose defaults are filled in.
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
