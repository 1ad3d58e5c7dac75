package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sidetone/fakeserver"
	"sidetone/fakeserver/page"
)

// flags are those of the servers and of the output.
type flags struct {
	common                 fakeserver.Options // what all servers share
	port, fault, ipc, page string
	profiles               []string
	pretty, json           bool

	given func(flag string) bool // on the command line
}

func (f *flags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	f.given = set.Changed
	set.StringSliceVar(&f.profiles, "profile", nil,
		"`profile` to play, see above; may be repeated, each is a server of its own (default documented)")
	set.StringVar(&f.port, "port", "", "`port`, or range of which the first free one is taken; 0 is any free port "+
		"(default 6463-6473, of a desktop, arrpc or flaky client 6463-6472)")
	set.StringVar(&f.ipc, "ipc", "",
		"auto: IPC in the folder the client uses; off; or the `folder` for the socket (default auto, of a documented client off)")
	set.BoolVar(&f.common.NoTCP, "no-tcp", false, "no port, as where the system reserves them all: IPC only")
	set.StringSliceVar(&f.common.ClientIDs, "client-id", nil, "known application `id`, may be repeated (default any)")
	set.StringVar(&f.fault, "fault", "none", "`fault` to begin with, see above")
	set.BoolVar(&f.pretty, "pretty", false, "print the JSON of each payload below its line")
	set.BoolVar(&f.json, "json", false, "print one JSON object for each payload instead of a line of text")
	set.StringArrayVar(&f.common.Origins, "origin", nil, "registered `origin`, may be repeated; a WebSocket then needs one "+
		"(default none needed, of a desktop or flaky client none registered)")
	set.IntVar(&f.common.Bucket, "bucket", 0,
		"`number` of requests let through at once for each client id, -1 for no limit (default no limit, of a desktop or flaky client 2)")
	set.DurationVar(&f.common.Refill, "refill", 30*time.Second, "`time` after which one more request is let through")
	set.Uint64Var(&f.common.Seed, "seed", 0, "`number` that determines the faults of a flaky client")
	set.StringVar(&f.common.StateFile, "state", "",
		"`file` to keep the device lists in; with several servers FILE-NAME each (default memory only)")
	set.StringVar(&f.page, "page", "",
		"show a live page of the client on this loopback `address`, such as 127.0.0.1:8080; port 0 is any free port (default none)")
	set.BoolVar(&f.common.NoFingerprint, "no-fingerprint", false,
		"follow the written specification only: 404 answers do not bear the client's body")
	set.BoolVar(&f.common.NoWebSocket, "no-websocket", false, "switch WebSocket off")
	set.BoolVar(&f.common.NoHTTP, "no-http", false, "switch HTTP off")
}

// clients returns the options of each server. A single documented client has no name.
func (f *flags) clients() ([]fakeserver.Options, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	profiles, err := parseProfiles(f.profiles)
	if err != nil {
		return nil, fmt.Errorf("--profile: %w", err)
	}
	if f.port != "" {
		if f.common.Ports, err = parsePorts(f.port); err != nil {
			return nil, fmt.Errorf("--port: %w", err)
		}
	}
	if f.common.Fault, err = fakeserver.ParseFault(f.fault); err != nil {
		return nil, fmt.Errorf("--fault: %w", err)
	}
	clients := make([]fakeserver.Options, len(profiles))
	for i, profile := range profiles {
		o := f.common
		o.Profile, o.IPCDir = profile, f.ipcDir(profile)
		if len(profiles) > 1 || profile != fakeserver.Documented {
			o.Name = clientName(i)
		}
		if len(profiles) > 1 && o.StateFile != "" {
			o.StateFile += "-" + o.Name
		}
		if err := o.Check(); err != nil {
			return nil, err
		}
		clients[i] = o
	}
	return clients, nil
}

// check refuses values that would silently mean the default.
func (f *flags) check() error {
	switch {
	case f.pretty && f.json:
		return errors.New("--pretty and --json exclude each other")
	case f.given("bucket") && f.common.Bucket == 0:
		return errors.New("--bucket: 0 would let nothing through: want at least 1, or -1 for no limit")
	case f.common.Refill == 0:
		return errors.New("--refill: want a time above zero, not 0s")
	case slices.Contains(f.common.ClientIDs, ""), f.given("client-id") && len(f.common.ClientIDs) == 0:
		return errors.New("--client-id: the id is empty")
	}
	if f.page == "" {
		return nil
	}
	if err := page.CheckAddr(f.page); err != nil {
		return fmt.Errorf("--page: %w", err)
	}
	return nil
}

// wanted says what flags take, by their pflag type.
var wanted = map[string]string{
	"int":      "a whole number",
	"uint64":   "a whole number, not below zero",
	"duration": "a time such as 250ms, 30s or 10m",
	"bool":     "true or false",
}

// wrongFlag says what a flag takes.
func wrongFlag(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := invalid.GetFlag()
	want, known := wanted[flag.Value.Type()]
	if !known {
		return err
	}
	return fmt.Errorf("--%s: want %s, not %q", flag.Name, want, invalid.GetValue())
}

func (f *flags) format() format {
	switch {
	case f.json:
		return jsonLine
	case f.pretty:
		return prettyText
	}
	return textLine
}

// ipcDir is the folder for the socket of a client; "" for none.
func (f *flags) ipcDir(profile fakeserver.Profile) string {
	switch {
	case f.ipc == "off", f.ipc == "" && profile == fakeserver.Documented:
		return ""
	case f.ipc == "auto", f.ipc == "":
		return clientIPCDir()
	}
	return f.ipc
}

// parsePorts reads a port, or a range of ports such as 6463-6473.
func parsePorts(s string) ([]int, error) {
	low, high, isRange := strings.Cut(s, "-")
	if isRange && (low == "" || high == "") {
		return nil, fmt.Errorf("%q is neither a port between 0 and 65535 nor a range such as 6463-6473", s)
	}
	first, err := parsePort(low)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []int{first}, nil
	}
	last, err := parsePort(high)
	switch {
	case err != nil:
		return nil, err
	case first == 0:
		return nil, fmt.Errorf("range %s: 0 means any free port and cannot begin a range", s)
	case first > last:
		return nil, fmt.Errorf("range %s is reversed, write %d-%d", s, last, first)
	}
	ports := make([]int, 0, last-first+1)
	for p := first; p <= last; p++ {
		ports = append(ports, p)
	}
	return ports, nil
}

func parsePort(s string) (int, error) {
	port, err := strconv.Atoi(s)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("%q is not a port between 0 and 65535", s)
	}
	return port, nil
}
