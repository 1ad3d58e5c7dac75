package world

import (
	"fmt"
	"slices"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
)

const (
	prompt      = time.Second      // within which a working link delivers the newest list
	maxRecovery = 65 * time.Minute // within which all waits of the agent end
)

// undisturbedFor reports whether it has run for d without anything that may break its links.
func (k *client) undisturbedFor(d time.Duration) bool {
	return k.on && !k.frozen && time.Since(k.undisturbedSince) >= d && time.Since(k.answersAt) >= d && time.Since(k.fullyOpenAt) >= d
}

// checkPrompt checks that clients with a working link over a socket hold the newest list.
func (c *clients) checkPrompt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == nil || len(c.history) == 0 || time.Since(c.published) < prompt {
		return
	}
	for _, k := range c.all {
		if k.isReached() && !k.isUpToDate() {
			k.violate("late", "takes lists over its socket since %v, and holds list %d of %d, %v after the last change, %v after it went on",
				k.linkedSince.Sub(c.began), slices.Index(c.history, k.list()), len(c.history)-1,
				time.Since(c.published), time.Since(k.undisturbedSince))
		}
	}
}

// checkUnmuted checks, while no agent runs, that no client that took lists over its socket shows a mute that nobody watches.
func (c *clients) checkUnmuted() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.all {
		if k.isReached() && k.list() != unmuted(k.list()) {
			k.violate("gap", "holds %s while no agent runs", k.list())
		}
	}
}

// isReached reports whether lists over the socket arrive at once. The only client that may be served makes room if it leaves the first one
// without an answer.
func (k *client) isReached() bool {
	madeRoom := k.desk.set.First && k.unanswered[fakeserver.IPC]
	return !madeRoom && k.knowsCommand() && k.undisturbedFor(prompt) && !k.linkedSince.IsZero() && time.Since(k.linkedSince) >= prompt
}

func (c *clients) newest() string {
	if len(c.history) == 0 {
		return ""
	}
	return c.history[len(c.history)-1]
}

// knowsCommand reports whether it is a client of this user that knows the command, without a fault.
func (k *client) knowsCommand() bool {
	if k.srv == nil || k.process.UID != myUser || k.srv.Fault().Kind != fakeserver.FaultNone {
		return false
	}
	return k.Profile == fakeserver.Desktop || k.Profile == fakeserver.Documented
}

// checkRest checks that all clients hold the newest list after the agent has had all the time it may need.
func (c *clients) checkRest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reporter == nil || len(c.history) == 0 || time.Since(c.published) < maxRecovery {
		return
	}
	for _, k := range c.all {
		if k.on && k.undisturbedFor(maxRecovery) && k.neverAnswers() && c.saysSlow(k) {
			k.violate("slow", "never answers; the agent says %s", c.said(k))
		}
		if k.knowsCommand() && k.undisturbedFor(maxRecovery) && !k.isUpToDate() && c.excuse(k) == "" {
			k.violate("rest", "holds list %d of %d: %s; the agent says %s",
				slices.Index(c.history, k.list()), len(c.history)-1, k.list(), c.said(k))
		}
	}
}

// neverAnswers reports whether it is a program that has answered no list, also not by a fault, and the agent knows that it is not the one
// before it.
func (k *client) neverAnswers() bool {
	silent := k.Profile == fakeserver.ArRPC || k.Profile == fakeserver.Blackhole
	return silent && !k.refused && len(k.sharing()) == 1 && !k.Hidden && k.desk.set.Visibility == seesAll &&
		(!k.Sandboxed || k.seemsRestarted())
}

// saysSlow reports whether the agent's status says of a client that it is slow.
func (c *clients) saysSlow(k *client) bool {
	return slices.ContainsFunc(c.reporter.Status().Sessions, func(s rpcclient.Session) bool {
		return s.State == rpcclient.Slow && s.PID != 0 && k.has(s.PID)
	})
}

// has reports whether a process is the client's own, or what stands before it.
func (k *client) has(pid int) bool {
	return pid == k.process.PID || pid == k.relay.PID || k.Sandboxed && pid == relayPID
}

// said returns what the agent's status says of a client, and of clients whose process it does not know.
func (c *clients) said(k *client) string {
	text := ""
	for _, s := range c.reporter.Status().Sessions {
		if s.PID == 0 || k.has(s.PID) {
			text += fmt.Sprintf("[%s %s] ", s.State, s.Address)
		}
	}
	return text
}

// excuse returns why a client may hold another list even at rest; "": there is no excuse.
func (c *clients) excuse(k *client) string {
	unidentified := func(o *client) bool { return o.Hidden || c.set.Visibility != seesAll }
	served := func(o *client) bool { return o != k && o.on }
	first := func(o *client) bool { return served(o) && (!o.knowsCommand() || o.isUpToDate()) }
	other := func(o *client) bool { return served(o) && !o.NoSocket && (unidentified(o) || unidentified(k)) }
	switch {
	case k.Sandboxed && !k.seemsRestarted():
		return "it may be the program before it, which was given up"
	case c.set.First && slices.ContainsFunc(c.all, first):
		return "only one is to be served"
	case k.NoSocket && c.set.Without == rpcclient.HTTP:
		return "the settings leave out the only way to it"
	case k.NoSocket && c.published.Before(k.undisturbedSince) && slices.ContainsFunc(c.all, served):
		return "nobody looks for it before the list changes"
	case k.unanswered[fakeserver.IPC], k.NoSocket && len(k.unanswered) > 0:
		return "it may have been given up"
	case k.NoSocket && slices.ContainsFunc(c.all, other):
		return "it may be the same as one that is served over its socket"
	}
	return ""
}
