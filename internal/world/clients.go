package world

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/rpcclient"
)

const (
	application = "123456789012345678"
	folder      = "/run/user/1000"

	socketBuffer = 208 << 10 // as of Linux, in bytes

	slowGet    = 600 * time.Millisecond
	awake      = time.Millisecond      // for what a program does first that goes on
	backlog    = 50 * time.Millisecond // for what has queued on a link
	longFreeze = time.Minute           // beyond it no link needs to hold; where only the first is wanted: beyond the time for an answer
)

var searched = []int{6463, 6464, 6465, 6466, 6467, 6468, 6469, 6470, 6471, 6472, 6473}

// clients is the clients' half of the desk: programs on a machine of its own, and what reports to
// them. All but notes is owned by the goroutine of the desk.
type clients struct {
	seed      uint64
	began     time.Time
	net       *memnet.Network
	agent     *memnet.Process
	view      *view
	all       []*client
	pid       int
	set       Reporting
	reporting *reporter // nil while the agent does not run

	mu         sync.Mutex
	history    []string // lists that were published, as the client has them; guarded by mu
	last       devices.Snapshot
	published  time.Time
	leaving    bool // the agent ends
	reloaded   bool // the settings have changed since the agent's start
	violations []Violation
	trace      []line
}

// line is one of the story.
type line struct {
	at     time.Duration
	client int
	text   string
}

// client is one program.
type client struct {
	ClientSpec
	index      int
	desk       *clients
	srv        *fakeserver.Server // nil before the first start
	process    *memnet.Process    // of its socket, and of its port but for a relay
	relay      *memnet.Process
	on, frozen bool
	calm       time.Time // since when nothing has happened to it that a link feels
	lateAt     time.Time // when its doors are all open
	frozenAt   time.Time

	// Guarded by desk.mu.
	stale   time.Time                     // when it went on after its links had been given up: then it takes what had queued on them
	linked  time.Time                     // since when it takes lists over a socket; zero: it does not
	holds   int                           // place in history of the list that it has taken last
	silent  map[fakeserver.Transport]bool // since its start a list has gone without an answer
	waiting []string                      // what agents that have ended may have sent it while it was frozen
	thawed  time.Time                     // when it went on
}

func newClients(seed uint64, specs []ClientSpec, set Reporting) *clients {
	c := &clients{seed: seed, began: time.Now(), pid: 100, set: set}
	c.net = memnet.New(memnet.Options{Buffer: socketBuffer, Delay: c.delay})
	c.agent = c.net.Process(local.Process{PID: 1, UID: myUser, Name: "agent"})
	c.view = &view{clients: c, sight: set.Sight}
	for i, spec := range specs {
		c.all = append(c.all, &client{ClientSpec: spec, index: i, desk: c, holds: -1, silent: make(map[fakeserver.Transport]bool)})
	}
	for _, k := range c.all {
		if !k.Off {
			k.start()
		}
	}
	return c
}

// hash is a number that depends on the seed and on what, alone.
func (c *clients) hash(what string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, c.seed))
	_, _ = h.Write([]byte(what))
	x := h.Sum64() * 0x9E3779B97F4A7C15
	return x ^ x>>29
}

// delay gives each event of the network an instant of its own, so that equal seeds give equal runs.
func (c *clients) delay(series string, nth int) time.Duration {
	return time.Microsecond + time.Duration(c.hash(fmt.Sprint(series, nth))%200_000)
}

// chance is the same at equal instants, whoever asks first.
func (c *clients) chance() float64 {
	return float64(c.hash(fmt.Sprint("chance", time.Since(c.began)))%100_000) / 100_000
}

// violate is called with mu held.
func (k *client) violate(rule, format string, args ...any) {
	d := k.desk
	text := fmt.Sprintf("client %d ", k.index) + fmt.Sprintf(format, args...)
	d.violations = append(d.violations, Violation{time.Since(d.began), rule, text})
	d.note(k.index, "violation of %s", rule)
}

// note adds to the trace. mu is held.
func (c *clients) note(client int, format string, args ...any) {
	c.trace = append(c.trace, line{time.Since(c.began), client, fmt.Sprintf(format, args...)})
}

// start begins a life of the program, of a process of its own or of the one before.
func (k *client) start() {
	if k.on {
		return
	}
	d := k.desk
	user, name := myUser, fmt.Sprintf("client %d", k.index)
	if k.Foreign {
		user = otherUser
	}
	if k.Hidden {
		name = hidden
	}
	d.pid += 2
	d.mu.Lock()
	k.process = d.net.Process(local.Process{PID: d.pid, UID: user, Name: name})
	if k.Shares && k.index > 0 && d.all[k.index-1].on && !d.all[k.index-1].frozen {
		k.process = d.all[k.index-1].process
	}
	k.relay = k.process
	if k.Relay {
		k.relay = d.net.Process(local.Process{PID: d.pid + 1, UID: user, Name: name})
	}
	d.mu.Unlock()
	k.open()
}

// open opens its doors.
func (k *client) open() {
	k.disturbed()
	k.on, k.frozen = true, false
	k.desk.mu.Lock()
	clear(k.silent)
	k.waiting = nil
	k.desk.mu.Unlock()
	k.lateAt = time.Now().Add(time.Duration(max(k.PortLate, k.SocketLate)) * time.Millisecond)
	var err error
	if k.srv != nil {
		at := slices.Index(searched, k.srv.Port()) + 1
		err = k.srv.Resume(append(slices.Clone(searched[at:]), searched[:at]...)...)
	} else {
		o := fakeserver.Options{
			Profile: k.Profile, Ports: searched, NoTCP: k.NoPort, Network: k, NoFingerprint: k.Unspecified, OnPayload: k.takes,
			Seed: k.desk.seed,
		}
		o.Fault, _ = fakeserver.ParseFault(k.Fault)
		if !k.NoSocket {
			o.IPCDir = folder
		}
		k.srv, err = fakeserver.Start(o)
	}
	if err != nil { // all sockets are taken
		k.on = false
	}
}

// ListenPort makes a client a network: its doors are those of its processes.
func (k *client) ListenPort(ports []int) (net.Listener, int, error) {
	ln, port, err := k.relay.ListenPort(ports)
	if err != nil {
		return nil, 0, err
	}
	later(ln.(*memnet.Listener), k.PortLate)
	if k.SlowGet {
		ln = slowListener{ln}
	}
	return ln, port, nil
}

// ListenIPC binds a socket. One that comes late has no file before.
func (k *client) ListenIPC(dir string) (net.Listener, string, error) {
	ln, path, err := k.process.ListenIPC(dir)
	if err == nil {
		later(ln.(*memnet.Listener), k.SocketLate)
	}
	return ln, path, err
}

// ReopenIPC binds a socket that a fault has closed.
func (k *client) ReopenIPC(path string) (net.Listener, error) { return k.process.ReopenIPC(path) }

func later(ln *memnet.Listener, ms int) {
	if ms > 0 {
		ln.Hide()
		time.AfterFunc(time.Duration(ms)*time.Millisecond, ln.Show)
	}
}

// end ends the life of the program, and of those that share its process. In order it closes its connections
// first, then its doors.
func (k *client) end(kill bool) {
	if !kill && k.on {
		k.thaw(false)
		k.disturbed()
		k.srv.DropConnections()
		time.Sleep(k.desk.delay(fmt.Sprint("end of ", k.index), int(time.Since(k.desk.began))))
	}
	for _, o := range k.desk.all {
		if o.on && o.process == k.process {
			o.thaw(kill)
			o.disturbed()
			o.on = false
			if kill {
				o.process.Kill()
				o.relay.Kill()
			}
			o.srv.Stop()
		}
	}
}

func (k *client) thaw(quietly bool) {
	if !k.frozen {
		return
	}
	for _, o := range k.desk.all {
		if o.on && o.process == k.process {
			o.frozen, o.calm = false, time.Now()
			o.desk.mu.Lock()
			o.thawed = time.Now()
			o.desk.mu.Unlock()
			if frozen := time.Since(o.frozenAt); frozen > longFreeze || o.desk.set.First && frozen > rpcclient.DefaultOptions.AnswerTimeout {
				o.disturbed()
				o.silenced()
				o.desk.mu.Lock()
				o.stale = time.Now()
				o.desk.mu.Unlock()
			}
		}
	}
	if !quietly {
		k.process.Thaw()
		for _, o := range k.desk.all {
			if o.on && o.process == k.process && o.relay != k.process {
				o.relay.Thaw()
			}
		}
		time.Sleep(awake)
	}
}

// disturbed says that something has happened to it that its links feel.
func (k *client) disturbed() {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	k.linked, k.calm = time.Time{}, time.Now()
}

// silenced says that a list may have gone without an answer, over any way.
func (k *client) silenced() {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	for _, t := range []fakeserver.Transport{fakeserver.IPC, fakeserver.HTTP} {
		k.silent[t] = true
	}
}

// takes hears of all that the program is told.
func (k *client) takes(p fakeserver.Payload) {
	d := k.desk
	list := canonical(p.Devices)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(k.index, "%s %x, err %v, fault %s", p.Transport, d.hash(list)%0xffff, p.Err, p.Fault)
	if p.Fault != fakeserver.FaultNone || p.EndedBy == fakeserver.Sender { // its line was too long
		k.silent[p.Transport] = true
	}
	if p.Fault == fakeserver.FaultCloseAfter { // that has ended the link
		k.linked = time.Time{}
	}
	switch {
	case len(p.Devices) > 0 && (k.Profile == fakeserver.Squatter ||
		k.process.UID != myUser && (d.view.sight.ports() || p.Transport == fakeserver.IPC)):
		k.violate("confided", "got a list that is not for it")
	case p.ClientID != application:
	case p.Err != nil || d.leaving:
	case len(p.Devices) == 0 && p.Transport == fakeserver.HTTP && k.Profile != fakeserver.Flaky && d.newest() != list &&
		!k.linked.IsZero() && k.srv.Links()[fakeserver.IPC] > 0:
		k.violate("wiped", "is served over its socket, and got an empty list over HTTP")
	case len(p.Devices) == 0 && p.Transport == fakeserver.HTTP: // it may be the question whether this is a client at all
	case k.wasWaiting(list): // of an agent before this one
	case slices.Contains(d.history, list): // else it is of an agent before this one, too
		place := slices.Index(d.history[max(k.holds, 0):], list)
		if place < 0 && k.isFarewell(list) {
			break
		}
		if place < 0 {
			k.violate("order", "took list %d over %s after list %d", slices.Index(d.history, list), p.Transport, k.holds)
			k.holds = slices.Index(d.history, list)
			break
		}
		k.holds = max(k.holds, 0) + place
		if p.Transport == fakeserver.IPC && k.linked.IsZero() && p.Fault == fakeserver.FaultNone && time.Since(k.stale) > backlog {
			k.linked = time.Now()
		}
	}
}

// isFarewell reports whether the list may be what is left with a client over a transport that new settings
// leave out, or over a socket that is not to be seen when they come. mu is held.
func (k *client) isFarewell(list string) bool {
	return k.desk.reloaded && list == unmuted(k.desk.history[max(k.holds, 0)])
}

// wasWaiting reports whether the list is one that an agent may have sent, or left it with, before that ended, while
// it was frozen. mu is held.
func (k *client) wasWaiting(list string) bool {
	return time.Since(k.thawed) <= backlog && slices.Contains(k.waiting, list)
}

// canonical is a list in one form, whoever wrote it.
func canonical(list any) string {
	b, _ := json.Marshal(list)
	var read []fakeserver.Device
	_ = json.Unmarshal(b, &read)
	for i := range read {
		if len(read[i].Related) == 0 {
			read[i].Related = nil
		}
	}
	b, _ = json.Marshal(read)
	return strings.ReplaceAll(string(b), "null", "[]")
}

// unmuted is a canonical list without a word about mutes.
func unmuted(list string) string {
	var read []fakeserver.Device
	_ = json.Unmarshal([]byte(list), &read)
	for i := range read {
		read[i].HardwareMute = nil
	}
	return canonical(read)
}

func (k *client) list() string { return canonical(k.srv.DevicesOf(application)) }

// publish is the Engine's door to what reports. Without clients it leads nowhere.
func (c *clients) publish(s devices.Snapshot) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.history = append(c.history, canonical(s.Wire()))
	c.last, c.published = s, time.Now()
	c.note(-1, "published %x", c.hash(c.history[len(c.history)-1])%0xffff)
	c.mu.Unlock()
	if c.reporting != nil {
		c.reporting.Publish(s)
	}
}

// startAgent begins to report, as a new process of the agent.
func (c *clients) startAgent() {
	if c.reporting != nil {
		return
	}
	c.mu.Lock()
	c.leaving = false
	c.reloaded = false
	for _, k := range c.all {
		k.linked, k.holds = time.Time{}, -1
	}
	last, some := c.last, len(c.history) > 0
	if some {
		c.history = c.history[len(c.history)-1:]
	}
	c.mu.Unlock()
	c.reporting = c.report()
	if some {
		c.reporting.Publish(last)
	}
}

// restart begins to report as a new process of the agent, which has no list yet.
func (c *clients) restart() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.history, c.last = nil, devices.Snapshot{}
	c.mu.Unlock()
	c.startAgent()
}

// quietFor reports whether the list has been the same for the time.
func (c *clients) quietFor(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.published) >= d
}

// do does one step.
func (c *clients) do(s ClientStep) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.note(s.Client, "%s %s", s.Do, s.Fault)
	c.mu.Unlock()
	var k *client
	if len(c.all) > 0 {
		k = c.all[s.Client%len(c.all)]
	}
	switch s.Do {
	case Configure:
		c.configure(*s.Reporting)
	case Resend:
		if c.reporting != nil {
			c.reporting.Resend()
		}
	case StopAgent:
		c.stopAgent()
	case StartAgent:
		c.startAgent()
	default:
		if k != nil {
			k.do(s)
		}
	}
}

func (k *client) do(s ClientStep) {
	switch {
	case s.Do == ClientStart:
		if k.on {
			k.end(false)
			time.Sleep(awake) // no two things happen at one instant
		}
		k.start()
	case !k.on:
	case s.Do == ClientStop:
		k.end(false)
	case s.Do == ClientKill:
		k.end(true)
	case s.Do == ClientMoves && !k.Shares:
		k.end(false)
		time.Sleep(awake)
		k.open()
	case s.Do == ClientFreezes:
		for _, o := range k.desk.all {
			if o.on && o.process == k.process && !o.frozen {
				o.frozen, o.frozenAt = true, time.Now()
				o.relay.Freeze()
			}
		}
		k.process.Freeze()
	case s.Do == ClientThaws:
		k.thaw(false)
	case k.frozen:
	case s.Do == ClientFault:
		f, err := fakeserver.ParseFault(s.Fault)
		if err == nil && k.srv.SetFault(f) == nil {
			k.disturbed()
		}
	case s.Do == ClientMended:
		if k.srv.SetFault(fakeserver.Fault{}) != nil { // its port was taken meanwhile
			k.end(false)
		}
		k.disturbed()
	case s.Do == ClientDrops:
		k.srv.DropConnections()
		k.disturbed()
	case s.Do == ClientSpends:
		k.spend()
	}
}

// spend is another agent that connects for the same application, and goes, or that posts no more
// than the head of a request.
func (k *client) spend() {
	hello := fmt.Sprintf(`{"v":1,"client_id":"%s"}`, application)
	hello = string(binary.LittleEndian.AppendUint32(make([]byte, 4), uint32(len(hello)))) + hello
	request := "POST /rpc?v=1&client_id=" + application + " HTTP/1.1\r\n" +
		"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn, _, err := k.desk.agent.DialIPC(ctx, k.srv.IPCPath())
		first := hello
		if err != nil {
			first = request
			conn, err = k.desk.agent.DialPort(ctx, k.srv.Port())
		}
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte(first))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = conn.Read(make([]byte, 1))
	}()
}

func (c *clients) configure(set Reporting) {
	set.Sight = c.set.Sight
	if set.First != c.set.First {
		for _, k := range c.all {
			k.disturbed()
		}
	}
	c.set = set
	c.mu.Lock()
	c.reloaded = true
	c.mu.Unlock()
	if c.reporting != nil {
		c.reporting.Reconfigure(c.options())
	}
}

// told is what was violated, all that happened, and what each program was told in its order. Equal
// seeds give equal plots: two timers of the agent that end at one instant may have microseconds moved.
func (c *clients) told() (violations []Violation, story, plot []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.trace {
		story = append(story, fmt.Sprintf("%v client %d: %s", l.at, l.client, l.text))
	}
	slices.SortStableFunc(c.trace, func(a, b line) int { return cmp.Compare(a.client, b.client) })
	for _, l := range c.trace {
		plot = append(plot, fmt.Sprintf("client %d: %s", l.client, l.text))
	}
	return c.violations, story, plot
}

// close ends all, whatever state it is in.
func (c *clients) close() {
	c.stopAgent()
	for _, k := range c.all {
		k.end(true)
		if k.srv != nil {
			_ = k.srv.Close()
		}
	}
	c.agent.Kill()
}

// slowListener is that of a program that answers GET late.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &slowConn{Conn: c.(*memnet.Conn)}, nil
}

type slowConn struct {
	*memnet.Conn
	mu  sync.Mutex
	get bool
}

func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.get = c.get || strings.HasPrefix(string(p[:n]), "GET / ")
	return n, err
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	late := c.get
	c.get = false
	c.mu.Unlock()
	if late {
		time.Sleep(slowGet)
	}
	return c.Conn.Write(p)
}
