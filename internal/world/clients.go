package world

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/rpcclient"
)

const (
	clientID  = "123456789012345678"
	socketDir = "/run/user/1000"

	socketBuffer = 208 << 10 // as of Linux, in bytes

	slowGet       = 600 * time.Millisecond
	pause         = time.Millisecond      // in which a program that thaws does what it does first
	backlog       = 50 * time.Millisecond // in which it takes what has queued on a link
	longestAnswer = 8 * time.Second       // of a client with a fault
	longestWrite  = 10 * time.Second      // of an answer, after which a client closes the link, frozen or not
	longFreeze    = time.Minute           // after which no link has to hold; with rpc.clients first: after the time for an answer
)

var searched = []int{6463, 6464, 6465, 6466, 6467, 6468, 6469, 6470, 6471, 6472, 6473}

// clients is the clients' half of the desk: programs in a network of its own, and the rpcclient that reports to
// them. The goroutine of the desk owns all but the story and what mu guards.
type clients struct {
	*story
	seed     uint64
	net      *memnet.Network
	agent    *memnet.Process
	sandbox  *sandbox // nil: no client runs in one
	view     *view
	all      []*client
	pid      int
	set      clientSettings
	log      *slog.Logger      // of the agent
	reporter *rpcclient.Client // nil while the agent does not run
	endAgent func()            // in order

	mu        sync.Mutex
	history   []string          // lists that were published, as the client has them; guarded by mu
	last      *devices.Snapshot // the newest of them; nil: none
	published time.Time
	leaving   bool   // the agent ends
	reloaded  bool   // the settings have changed since the agent's start
	replacing bool   // the agent makes way for another one
	memory    memory // of the agent, which outlasts its processes
}

func newClients(s scenario, events *story, log *slog.Logger) *clients {
	c := &clients{story: events, seed: s.Seed, pid: 100, set: s.Reporting, log: log}
	c.net = memnet.New(memnet.Options{Buffer: socketBuffer, Delay: c.delay})
	c.agent = c.net.Process(local.Process{PID: 1, UID: myUser, Name: "agent"})
	c.view = &view{clients: c, visibility: s.Reporting.Visibility}
	if slices.ContainsFunc(s.Clients, func(k clientSpec) bool { return k.Sandboxed }) {
		c.sandbox = newSandbox(c.net)
	}
	for i, spec := range s.Clients {
		c.all = append(c.all, &client{
			clientSpec: spec, index: i, desk: c, lastTaken: -1,
			unanswered: make(map[fakeserver.Transport]bool), answered: make(map[fakeserver.Transport]bool),
		})
		if !spec.Off {
			c.all[i].start()
		}
	}
	return c
}

// hash returns a number that depends on the seed and what only.
func (c *clients) hash(what string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, c.seed))
	_, _ = h.Write([]byte(what))
	x := h.Sum64() * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// delay gives each event of the network an instant of its own, so equal seeds give equal runs.
func (c *clients) delay(series string, nth int) time.Duration {
	return time.Microsecond + time.Duration(c.hash(fmt.Sprint(series, nth))%200_000)
}

// chance returns a number in [0, 1). It is the same at equal instants, whoever asks first.
func (c *clients) chance() float64 {
	return float64(c.hash(fmt.Sprint("chance", time.Since(c.began)))%100_000) / 100_000
}

// quietFor reports whether the list has not changed for d.
func (c *clients) quietFor(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.published) >= d
}

// do does a step that concerns clients.
func (c *clients) do(s scenarioStep) {
	if len(c.all) == 0 {
		return
	}
	c.note(s.Client, "%s %s", s.Do, s.Fault)
	switch s.Do {
	case doConfigure:
		c.configure(*s.Reporting)
	case doResend:
		c.resend()
	case doStopAgent:
		c.stopAgent("")
	case doStartAgent:
		c.startAgent()
	default:
		c.all[s.Client%len(c.all)].do(s)
	}
}

// close ends the agent and all programs.
func (c *clients) close() {
	c.stopAgent("")
	for _, k := range c.all {
		k.end(true)
		if k.srv != nil {
			_ = k.srv.Close()
		}
	}
	c.agent.Kill()
	if c.sandbox != nil {
		c.sandbox.Kill()
	}
}
