package world

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/rpcclient"
)

// client is one program that may be a client.
type client struct {
	clientSpec
	index            int
	desk             *clients
	srv              *fakeserver.Server // nil before the first start
	process          *memnet.Process    // of its socket, and of its port but for a relay
	relay            *memnet.Process
	on, frozen       bool
	undisturbedSince time.Time // when something last happened to it that may have broken a link
	openedAt         time.Time // when it was started
	fullyOpenAt      time.Time // when both its port and its socket are open
	frozenAt         time.Time
	spentAt          time.Time // when tokens of it were last spent without the agent knowing

	// Guarded by desk.mu.
	stale       time.Time                     // when it thawed after its links had been given up: then it takes what had queued on them
	linkedSince time.Time                     // since when it takes lists over a socket; zero: it does not
	lastTaken   int                           // index in history of the list that it has taken last
	unanswered  map[fakeserver.Transport]bool // since its start it has left a list without an answer
	answered    map[fakeserver.Transport]bool // since its start it has answered a list
	queued      []string                      // lists that agents which have ended may have sent it while it was frozen
	thawedAt    time.Time
	refused     bool      // the newest list: until it accepts one, what it is offered may be older
	filled      bool      // it holds a list with devices
	answersAt   time.Time // when it has answered what it answers late
}

func (k *client) violate(rule, format string, args ...any) {
	k.desk.record(violation{Rule: rule, Client: k.index, What: fmt.Sprintf(format, args...)})
}

// start starts the program, in a new process or in that of the client before it.
func (k *client) start() {
	if k.on {
		return
	}
	k.leaveSandbox()
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

// open opens its port and its socket.
func (k *client) open() {
	k.disturbed()
	k.on, k.frozen, k.openedAt = true, false, time.Now()
	k.desk.mu.Lock()
	clear(k.unanswered)
	clear(k.answered)
	k.queued, k.refused, k.filled = nil, false, false
	k.desk.mu.Unlock()
	k.fullyOpenAt = time.Now().Add(time.Duration(max(k.PortLate, k.SocketLate)) * time.Millisecond)
	var err error
	if k.srv != nil {
		at := slices.Index(searched, k.srv.Port()) + 1
		err = k.srv.Resume(append(slices.Clone(searched[at:]), searched[:at]...)...)
	} else {
		o := fakeserver.Options{
			Profile: k.Profile, Ports: searched, NoTCP: k.NoPort, Network: k, NoFingerprint: k.Unspecified, OnPayload: k.onPayload,
			Seed: k.desk.seed, Refuse: k.refuses,
		}
		o.Fault, _ = fakeserver.ParseFault(k.Fault)
		if !k.NoSocket {
			o.IPCDir = k.folder()
		}
		k.srv, err = fakeserver.Start(o)
	}
	if err != nil { // all sockets are taken
		k.on = false
	}
}

// ListenPort, ListenIPC and ReopenIPC implement fakeserver's Network with the sockets of its processes.
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

func (k *client) ListenIPC(dir string) (net.Listener, string, error) {
	ln, path, err := k.process.ListenIPC(dir)
	switch {
	case err != nil:
	case k.Sibling: // the relay accepts at once
		ln = relayListener{ln, time.Now().Add(time.Duration(k.SocketLate) * time.Millisecond)}
	default:
		later(ln.(*memnet.Listener), k.SocketLate)
	}
	return ln, path, err
}

func (k *client) ReopenIPC(path string) (net.Listener, error) { return k.process.ReopenIPC(path) }

// relayListener closes what it accepts while nobody is behind the relay.
type relayListener struct {
	net.Listener
	until time.Time
}

func (l relayListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil || !time.Now().Before(l.until) {
			return c, err
		}
		_ = c.Close()
	}
}

// later hides a listener for a while after the start.
func later(ln *memnet.Listener, ms int) {
	if ms > 0 {
		ln.Hide()
		time.AfterFunc(time.Duration(ms)*time.Millisecond, ln.Show)
	}
}

// end ends the program, and those that share its process. In order means that it closes its connections
// before its port and socket.
func (k *client) end(kill bool) {
	if !kill && k.on {
		k.thaw(false)
		k.disturbed()
		k.srv.DropConnections()
		time.Sleep(k.desk.delay(fmt.Sprint("end of ", k.index), int(time.Since(k.desk.began))))
	}
	if !k.on {
		return
	}
	for _, o := range k.sharing() {
		o.thaw(kill)
		o.disturbed()
		o.on = false
		if o.Sandboxed {
			k.desk.sandbox.ended = time.Now()
		}
		if kill {
			o.process.Kill()
			o.relay.Kill()
		}
		o.srv.Stop()
	}
}

// sharing returns the programs that run in its process, including itself.
func (k *client) sharing() (list []*client) {
	for _, o := range k.desk.all {
		if o.on && o.process == k.process {
			list = append(list, o)
		}
	}
	return list
}

func (k *client) freeze() {
	for _, o := range k.sharing() {
		if !o.frozen {
			o.frozen, o.frozenAt = true, time.Now()
			o.relay.Freeze()
		}
	}
	k.process.Freeze()
}

func (k *client) thaw(quietly bool) {
	if !k.frozen {
		return
	}
	for _, o := range k.sharing() {
		o.frozen = false
		o.thawed()
	}
	if quietly {
		return
	}
	k.process.Thaw()
	for _, o := range k.sharing() {
		if o.relay != k.process {
			o.relay.Thaw()
		}
	}
	time.Sleep(pause)
}

// thawed notes that it goes on. If it was frozen for long, its links have been given up, and lists may be left without an answer. A wake-up
// or new settings may have replaced them meanwhile.
func (k *client) thawed() {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	frozen, replaced := time.Since(k.frozenAt), k.undisturbedSince.After(k.frozenAt)
	k.undisturbedSince, k.thawedAt = time.Now(), time.Now()
	givenUp := frozen > longFreeze || k.desk.set.First && frozen > rpcclient.DefaultOptions.AnswerTimeout
	if givenUp {
		k.unanswered[fakeserver.IPC], k.unanswered[fakeserver.HTTP] = true, true
	}
	if givenUp || replaced || k.answersAt.After(k.frozenAt) && frozen > longestWrite { // a late answer, which it has given up
		k.linkedSince, k.stale = time.Time{}, time.Now()
	}
}

// disturbed notes that something has happened that may have broken its links.
func (k *client) disturbed() {
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	k.linkedSince, k.undisturbedSince = time.Time{}, time.Now()
}

// onPayload checks everything the program is sent.
func (k *client) onPayload(p fakeserver.Payload) {
	d := k.desk
	list := canonical(p.Devices)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(k.index, "%s %s, err %v, fault %s", p.Transport, digest(list), p.Err, p.Fault)
	switch left := p.Fault != fakeserver.FaultNone || p.EndedBy == fakeserver.Sender; { // the sender gave up waiting in its queue
	case left && !k.answered[p.Transport]:
		k.unanswered[p.Transport] = true
	case !left && p.Err == nil:
		k.answered[p.Transport] = true
	}
	if p.Fault == fakeserver.FaultAnswerLate { // until then the agent waits
		k.answersAt = time.Now().Add(longestAnswer)
	}
	if p.Fault == fakeserver.FaultCloseAfter { // the link has ended
		k.linkedSince = time.Time{}
	}
	// Where only the first client is served, another one is after the farewell.
	evicted := d.set.First && p.Transport == fakeserver.IPC && list != d.newest() && k.isFarewell(list)
	switch {
	case len(p.Devices) > 0 && (k.Profile == fakeserver.Squatter ||
		k.process.UID != myUser && (d.view.visibility.ports() || p.Transport == fakeserver.IPC)):
		k.violate("confided", "got a list that is not for it")
	case d.replacing && p.Err == nil && len(p.Devices) == 0 && k.filled && !k.refused && d.newest() != list && k.lastTaken >= 0 &&
		!k.frozen && (!k.Unspecified || p.Transport != fakeserver.HTTP): // else it may be asked for a proof
		k.violate("emptied", "got an empty list over %s while the agent makes way for another one", p.Transport)
	case p.ClientID != clientID:
	case p.Err != nil && (p.Fault == fakeserver.FaultError || isAnswered(p) && k.refuses(p.Devices) != ""):
		k.refused = true
	case p.Err != nil || d.leaving:
	case len(p.Devices) == 0 && p.Transport == fakeserver.HTTP && k.Profile != fakeserver.Flaky && d.newest() != list &&
		!k.linkedSince.IsZero() && k.srv.ConnectionsByTransport()[fakeserver.IPC] > 0:
		k.violate("wiped", "is served over its socket, and got an empty list over HTTP")
	case len(p.Devices) == 0 && p.Transport == fakeserver.HTTP: // it may be asking for a proof
	case k.wasQueued(list): // by an earlier agent
	case slices.Contains(d.history, list): // others are also by an earlier agent
		place := slices.Index(d.history[max(k.lastTaken, 0):], list)
		if k.refused && list != d.newest() || place < 0 && k.isFarewell(list) { // it is offered what it may accept instead of the newest
			break
		}
		if place < 0 {
			k.violate("order", "took list %d over %s after list %d", slices.Index(d.history, list), p.Transport, k.lastTaken)
			k.lastTaken = slices.Index(d.history, list)
			break
		}
		k.lastTaken, k.refused = max(k.lastTaken, 0)+place, false
		if p.Transport == fakeserver.IPC && k.linkedSince.IsZero() && p.Fault == fakeserver.FaultNone && time.Since(k.stale) > backlog {
			k.linkedSince = time.Now()
		}
	}
	if evicted {
		k.linkedSince = time.Time{}
	}
	if p.Err == nil {
		k.filled = len(p.Devices) > 0
	}
}

// isAnswered reports whether the program answers what it is sent.
func isAnswered(p fakeserver.Payload) bool {
	return p.Fault == fakeserver.FaultNone || p.Fault == fakeserver.FaultAnswerLate
}

// isFarewell reports whether the list may be the farewell over a transport that new settings exclude, over a socket that is hidden when
// they come, or where only the first client is served, to one that answers late and has to make room. mu is held.
func (k *client) isFarewell(list string) bool {
	may := k.desk.reloaded || k.desk.set.First
	if len(k.desk.history) == 0 { // of the agent before
		return may && list == canonical(nil)
	}
	return may && (list == canonical(nil) || list == unmuted(k.desk.newest()) || list == unmuted(k.desk.history[max(k.lastTaken, 0)]))
}

// wasQueued reports whether an agent that has ended may have sent the list, or left it as its farewell, while the client
// was frozen. mu is held.
func (k *client) wasQueued(list string) bool {
	return time.Since(k.thawedAt) <= backlog && slices.Contains(k.queued, list)
}

// atClient says what each action does to a client, and in which state of it.
var atClient = map[action]struct {
	can func(*client) bool
	do  func(*client, scenarioStep)
}{
	doClientStart:   {(*client).always, func(k *client, _ scenarioStep) { k.restart() }},
	doClientStop:    {(*client).runs, func(k *client, _ scenarioStep) { k.end(false) }},
	doClientKill:    {(*client).runs, func(k *client, _ scenarioStep) { k.end(true) }},
	doClientMoves:   {(*client).runs, func(k *client, _ scenarioStep) { k.move() }},
	doClientFreezes: {(*client).runs, func(k *client, _ scenarioStep) { k.freeze() }},
	doClientThaws:   {(*client).runs, func(k *client, _ scenarioStep) { k.thaw(false) }},
	doClientFault:   {(*client).reacts, func(k *client, s scenarioStep) { k.fail(s.Fault) }},
	doClientMended:  {(*client).reacts, func(k *client, _ scenarioStep) { k.mend() }},
	doClientDrops:   {(*client).reacts, func(k *client, _ scenarioStep) { k.drop() }},
	doClientSpends:  {(*client).reacts, func(k *client, _ scenarioStep) { k.spend() }},
}

func (k *client) always() bool { return true }
func (k *client) runs() bool   { return k.on }
func (k *client) reacts() bool { return k.on && !k.frozen }

func (k *client) do(s scenarioStep) {
	if action := atClient[s.Do]; action.can(k) {
		action.do(k, s)
	}
}

func (k *client) restart() {
	if k.on {
		k.end(false)
		time.Sleep(pause) // no two things happen at one instant
	}
	k.start()
}

// move restarts it as the same process, on another port.
func (k *client) move() {
	if !k.Shares {
		k.end(false)
		time.Sleep(pause)
		k.open()
	}
}

func (k *client) fail(how string) {
	if f, err := fakeserver.ParseFault(how); err == nil {
		k.set(f)
	}
}

func (k *client) mend() { k.set(fakeserver.Fault{}) }

// set gives it a fault, or none. One that had refused may find that others have taken its port or socket: then it ends.
func (k *client) set(f fakeserver.Fault) {
	if k.srv.SetFault(f) != nil {
		k.end(false)
	}
	k.disturbed()
	k.desk.mu.Lock()
	defer k.desk.mu.Unlock()
	if f.Kind == fakeserver.FaultHang && !k.answered[fakeserver.HTTP] { // it reads no list that comes meanwhile
		k.unanswered[fakeserver.HTTP] = true
	}
}

func (k *client) drop() {
	k.srv.DropConnections()
	k.disturbed()
}

// refuses returns why it does not accept a list; "": it does.
func (k *client) refuses(list []fakeserver.Device) string {
	switch {
	case k.Most > 0 && len(list) > k.Most:
		return fmt.Sprintf("more than %d", k.Most)
	case k.RefusedText != "" && strings.Contains(text(list), k.RefusedText):
		return k.RefusedText + " is refused"
	}
	return ""
}

// isUpToDate reports whether it holds the newest list or, if it refuses that, no flag that is over.
func (k *client) isUpToDate() bool {
	newest, held := k.desk.newest(), k.list()
	return held == newest || k.refuses(received(newest)) != "" && !overstates(received(held), received(newest))
}

// overstates reports whether held says that a flag is true which is not true in newest.
func overstates(held, newest []fakeserver.Device) bool {
	return slices.ContainsFunc(held, func(was fakeserver.Device) bool {
		now := fakeserver.Device{}
		if i := slices.IndexFunc(newest, func(d fakeserver.Device) bool { return d.Type == was.Type && d.ID == was.ID }); i >= 0 {
			now = newest[i]
		}
		over := func(was, now *bool) bool { return was != nil && *was && (now == nil || !*now) }
		return over(was.HardwareMute, now.HardwareMute) || over(was.NoiseSuppression, now.NoiseSuppression)
	})
}

func (k *client) list() string { return canonical(k.srv.DevicesOf(clientID)) }

// canonical returns a list in one form, whoever wrote it.
func canonical(list []fakeserver.Device) string {
	list = append([]fakeserver.Device{}, list...) // never nil
	for i := range list {
		if len(list[i].Related) == 0 {
			list[i].Related = []string{}
		}
	}
	return text(list)
}

// received returns a list as clients read it.
func received(list string) (read []fakeserver.Device) {
	_ = json.Unmarshal([]byte(list), &read)
	return read
}

// unmuted returns a canonical list without its mutes.
func unmuted(list string) string {
	read := received(list)
	for i := range read {
		read[i].HardwareMute = nil
	}
	return canonical(read)
}
