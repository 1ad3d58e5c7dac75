package fakeserver

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Profile is the kind of program that a server stands in for. Its value is
// the name that [ParseProfile] reads; "" is [Documented].
type Profile string

// The profiles.
const (
	// Documented is the client as the written specification describes it.
	Documented Profile = "documented"
	// Desktop is the client that users run, as strict and as lenient as its own
	// modules proved to be: IPC, registered origins, a command that a WebSocket
	// may not use, a rate limit, requests that are never answered. The rules with
	// the basis "ran" in docs/protocol.md describe it.
	Desktop Profile = "desktop"
	// DesktopFebruary2026 is [Desktop] as it was until February 2026: any number of
	// IPC connections is accepted, a WebSocket or an IPC connection that is closed
	// while it waits in line costs its token, and a POST that is given up in line
	// is dropped only if it is shorter than 64 KiB instead of 128 (rules R80, R88).
	DesktopFebruary2026 Profile = "desktop-2026-02"
	// ArRPC is the open re-implementation arRPC, as of version 3.5.0: it says
	// READY, with a user, over WebSocket and IPC, and never answers the command,
	// nor any plain HTTP request. It knows every application id, except an empty
	// one over IPC, and only the client's own origins; v and encoding are
	// optional. It closes a WebSocket without a code, and an IPC connection with
	// code 1003 if a message is not JSON or longer than 64 KiB. Other messages
	// that it cannot read crash it: over WebSocket whatever is not JSON, over both
	// null. All connections then end, and the server goes on as if it had been
	// restarted at once. ClientIDs, Origins and NoHTTP of [Options] have no effect.
	ArRPC Profile = "arrpc"
	// Squatter is another program on the port: every request is answered by a
	// 404 HTML page. It has no IPC socket.
	Squatter Profile = "squatter"
	// Blackhole accepts connections and never says a word.
	Blackhole Profile = "blackhole"
	// Flaky is [Desktop] with random faults, the same ones for the same seed.
	// On average one in four connects (WebSocket or IPC) and one in four payloads
	// meets a fault. For a connect it is ready-late, ready-never, close-code,
	// login or offline, for a payload die, close-after, no-answer, answer-late,
	// wrong-nonce, bad-json, error, huge, half, deep, extra-answer, twice or
	// offline; delays are below 2 s. A fault that a transport cannot show is not
	// drawn for it. The draw for the nth connect and the nth payload is always the
	// same; it has no effect while a fault is set (see [Server.SetFault]).
	Flaky Profile = "flaky"
)

var profileSpecs = []struct {
	profile Profile
	help    string
}{
	{Documented, "the client as specified"},
	{Desktop, "the client that users run: IPC, origins, a limit on requests"},
	{DesktopFebruary2026, "desktop until February 2026: any number of connections, a closed one burns its token"},
	{ArRPC, "an open re-implementation: says READY, never answers the command"},
	{Squatter, "another program on the port: all is 404, in HTML; no IPC"},
	{Blackhole, "accepts connections and never says a word"},
	{Flaky, "desktop with random faults, the same for the same seed"},
}

// Profiles returns the names of all profiles.
func Profiles() []string {
	names := make([]string, len(profileSpecs))
	for i, s := range profileSpecs {
		names[i] = string(s.profile)
	}
	return names
}

// ParseProfile reads the name of a profile. The error lists all names.
func ParseProfile(name string) (Profile, error) {
	if !slices.Contains(Profiles(), name) {
		return "", fmt.Errorf("unknown profile %q, want one of %s", name, strings.Join(Profiles(), ", "))
	}
	return Profile(name), nil
}

// ProfileHelp lists every profile with its meaning, one per line.
func ProfileHelp() string {
	var b strings.Builder
	for _, s := range profileSpecs {
		fmt.Fprintf(&b, "  %-15s %s\n", s.profile, s.help)
	}
	return b.String()
}

// isDesktop reports whether the profile is the client that users run, of whatever
// build, with or without faults.
func (p Profile) isDesktop() bool {
	return p == Desktop || p == DesktopFebruary2026 || p == Flaky
}

// profileLimits are the numbers in which profiles differ.
type profileLimits struct {
	lastPort    int           // the last port that the program tries
	bucket      int           // requests let through at once; 0: no limit (rule R67)
	idleTimeout time.Duration // of a connection between two requests (rule R84)
	maxBody     int64         // of a request, in bytes (rule R85)
	maxText     int           // of a message over WebSocket, in bytes (rule R47)
	maxIPC      int           // IPC connections at once; 0: no limit (rule R80)
	// readAhead is how much of a body is read while it waits in line, in bytes. Of a longer one it is not noticed that its sender
	// left (rule R88).
	readAhead int

	closedKeepsPlace bool // a connection that is closed in line costs its token all the same (rule R88)
}

func (p Profile) limits() profileLimits {
	switch {
	case p.isDesktop():
		l := profileLimits{
			lastPort: 6472, bucket: 2, idleTimeout: 5 * time.Second,
			maxBody: 64 << 20, maxText: 100 << 20, maxIPC: maxIPC, readAhead: 128 << 10,
		}
		if p == DesktopFebruary2026 {
			l.maxIPC, l.closedKeepsPlace, l.readAhead = 0, true, 64<<10
		}
		return l
	case p == ArRPC:
		return profileLimits{lastPort: 6472, idleTimeout: 2 * time.Minute, maxBody: maxMessage, maxText: maxMessage, readAhead: maxMessage}
	}
	return profileLimits{lastPort: 6473, idleTimeout: 2 * time.Minute, maxBody: maxMessage, maxText: maxMessage, readAhead: maxMessage}
}
