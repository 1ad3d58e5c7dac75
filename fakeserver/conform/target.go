package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// ExampleClientID is the client id of a target that names none. A real client
// refuses it.
const ExampleClientID = "123456789012345678"

// Defaults of [Options].
const (
	DefaultRefill   = 30 * time.Second
	DefaultPatience = 5 * time.Second
)

// Networks of [Options].
const (
	networkTCP = "tcp"
	networkIPC = "ipc"
)

// A Target is the server to test, by URL, IPC, or both; a transport without an
// address is not tried.
type Target struct {
	// URL is http://127.0.0.1:PORT; only a loopback address is allowed.
	URL string `json:"url,omitempty"`
	// IPC is the path of a unix socket, or the name of a local named pipe on Windows.
	IPC string `json:"ipc,omitempty"`
	// ClientID is an application id; "" means [ExampleClientID]. Its device list is empty after a run.
	ClientID string `json:"client_id"`
	// Origin is registered for the application, for WebSockets; "" if there is none.
	Origin string `json:"origin,omitempty"`
}

// Options configure a run. The zero value runs the checks that cost at most two
// tokens of the server's rate limit, which takes seconds.
type Options struct {
	// All runs every check, and waits for the server's rate limit, if it has one.
	All bool
	// Refill is the time after which the server lets one more request through.
	// 0 means 30 s, like the real client.
	Refill time.Duration
	// Patience is how long to wait for an answer that has no reason to be queued.
	// 0 means 5 s.
	Patience time.Duration
	// Progress is called before each check that may take long, from the
	// goroutine of [Run]. It may be nil.
	Progress func(Progress)
	// Dial connects to the server: network is "tcp" and address that of the URL,
	// or network is "ipc" and address the path. nil means the loopback interface
	// and the file system of this machine.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Version is that of the program that runs the checks, for the report.
	Version string
}

// A TargetError says what is invalid in a [Target] or in [Options].
type TargetError struct {
	Field  string // of Target or Options
	Value  string
	Reason string
}

func (e *TargetError) Error() string {
	return fmt.Sprintf("%s %q: %s", e.Field, e.Value, e.Reason)
}

// An UnreachableError says that nothing accepts connections at the target, or
// that it stopped doing so.
type UnreachableError struct {
	Address string
	Err     error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no server at %s: %v; is the client running, and is this its port or socket?", e.Address, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// withDefaults fills in what is empty and says what is invalid. Paths are only checked if they
// are those of this machine.
func (t Target) withDefaults(ofThisMachine bool) (Target, error) {
	if t.URL == "" && t.IPC == "" {
		return t, &TargetError{"target", "", "name a URL or an IPC path"}
	}
	t.ClientID = cmp.Or(t.ClientID, ExampleClientID)
	if strings.TrimFunc(t.ClientID, func(r rune) bool { return r >= '0' && r <= '9' }) != "" {
		return t, &TargetError{"client id", t.ClientID, "not a number; it is the application id of the developer portal"}
	}
	if strings.ContainsFunc(t.Origin, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return t, &TargetError{"origin", t.Origin, "has a blank or a character beyond ASCII in it"}
	}
	if t.URL != "" {
		if _, err := addressOf(t.URL); err != nil {
			return t, &TargetError{"url", t.URL, err.Error()}
		}
	}
	if t.IPC != "" && ofThisMachine {
		if err := checkIPCPath(t.IPC); err != nil {
			return t, &TargetError{"ipc", t.IPC, err.Error()}
		}
	}
	return t, nil
}

// addressOf returns the host and port of a URL that may be asked.
func addressOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("not a URL")
	}
	host, err := netip.ParseAddrPort(u.Host)
	switch {
	case u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", errors.New("write it http://127.0.0.1:PORT")
	case err != nil:
		return "", errors.New("no numeric address with a port; write it http://127.0.0.1:PORT")
	case !host.Addr().IsLoopback():
		return "", errors.New("not a loopback address; only servers on this machine are asked")
	case host.Port() == 0:
		return "", errors.New("port 0 is no port")
	}
	return host.String(), nil
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Refill < 0:
		return o, &TargetError{"refill", o.Refill.String(), "negative"}
	case o.Patience < 0:
		return o, &TargetError{"patience", o.Patience.String(), "negative"}
	}
	o.Refill = cmp.Or(o.Refill, DefaultRefill)
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Dial == nil {
		o.Dial = dialThisMachine
	}
	return o, nil
}

func dialThisMachine(ctx context.Context, network, address string) (net.Conn, error) {
	if network == networkIPC {
		return dialIPC(ctx, address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, address)
}
