package fakeserver

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Profile is the kind of program a server plays. Its text is the name
// [ParseProfile] knows; "" is [Documented].
type Profile string

// The profiles.
const (
	// Documented is the client as the written specification has it.
	Documented Profile = "documented"
	// Desktop is the client that real users run, as strict and as lenient as its
	// own modules were seen to be: IPC, registered origins, a command that a
	// WebSocket may not use, a limit on requests, requests that are never answered.
	// The rules with the basis "ran" in docs/protocol.md are about it.
	Desktop Profile = "desktop"
	// ArRPC is the open re-implementation arRPC, as of version 3.5.0: it says
	// READY, with a user, over WebSocket and IPC, and never answers the command,
	// nor any plain HTTP request. It knows every application id, but for an empty
	// one over IPC, and the client's own origins only; v and encoding may be left
	// out. It closes a WebSocket without a code, and an IPC connection with code
	// 1003 if a message is not JSON or longer than 64 KiB. Other messages that it
	// cannot read crash it: over WebSocket what is not JSON, over both null. All
	// connections end then, and the server goes on like one that was started
	// again at once. ClientIDs, Origins and NoHTTP of [Options] change nothing.
	ArRPC Profile = "arrpc"
	// Squatter is another program on the port: every request is answered by a
	// 404 HTML page. It has no IPC socket.
	Squatter Profile = "squatter"
	// Blackhole accepts connections and never says a word.
	Blackhole Profile = "blackhole"
	// Flaky is [Desktop] with random faults, the same ones for the same seed:
	// of four connects (WebSocket or IPC) and of four payloads, one meets a
	// fault on the average. For a connect it is ready-late, ready-never,
	// close-code, login or offline, for a payload die, close-after, no-answer,
	// answer-late, wrong-nonce, bad-json, error, huge, half, deep, extra-answer,
	// twice or offline; delays are below 2 s. What a transport cannot show is
	// not drawn for it. The nth connect and the nth payload of a server always
	// meet the same draw, which is void while a fault is set (see [Server.SetFault]).
	Flaky Profile = "flaky"
)

type profileSpec struct {
	profile Profile
	help    string
}

var profileSpecs = []profileSpec{
	{Documented, "the client as specified"},
	{Desktop, "the client that users run: IPC, origins, a limit on requests"},
	{ArRPC, "an open re-implementation: says READY, never answers the command"},
	{Squatter, "another program on the port: all is 404, in HTML; no IPC"},
	{Blackhole, "accepts connections and never says a word"},
	{Flaky, "desktop with random faults, the same for the same seed"},
}

// Profiles are the names of all profiles.
func Profiles() []string {
	names := make([]string, len(profileSpecs))
	for i, s := range profileSpecs {
		names[i] = string(s.profile)
	}
	return names
}

// ParseProfile reads the name of a profile. The error names all.
func ParseProfile(name string) (Profile, error) {
	if !slices.Contains(Profiles(), name) {
		return "", fmt.Errorf("unknown profile %q, want one of %s", name, strings.Join(Profiles(), ", "))
	}
	return Profile(name), nil
}

// ProfileHelp lists every profile with its meaning, one a line.
func ProfileHelp() string {
	var b strings.Builder
	for _, s := range profileSpecs {
		fmt.Fprintf(&b, "  %-12s %s\n", s.profile, s.help)
	}
	return b.String()
}

// isDesktop reports whether the profile is the client that users run, with or
// without faults.
func (p Profile) isDesktop() bool { return p == Desktop || p == Flaky }

// idleTimeout is how long a connection stays open between two requests (rule R84).
func (p Profile) idleTimeout() time.Duration {
	if p.isDesktop() {
		return 5 * time.Second
	}
	return 2 * time.Minute
}

// maxBody is the largest body of a request, in bytes (rule R85).
func (p Profile) maxBody() int64 {
	if p.isDesktop() {
		return 64 << 20
	}
	return maxMessage
}

// lastPort is the last port the program tries: the specification's range is
// one longer than that of the real client.
func (p Profile) lastPort() int {
	if p.isDesktop() || p == ArRPC {
		return lastRealPort
	}
	return lastPort
}

// bucket is how many requests are let through at once; 0: any number (rule R67).
func (p Profile) bucket() int {
	if p.isDesktop() {
		return 2
	}
	return 0
}
