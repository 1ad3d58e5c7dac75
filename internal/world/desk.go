package world

import (
	"fmt"
	"hash/fnv"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
)

// Settings of the agent under test: the defaults.
const (
	removalGrace = time.Second
	staleAfter   = 30 * time.Second
)

// desk is a scenario that is being played. One goroutine does everything that happens, and no two things
// happen at the same instant, so equal scenarios give equal runs.
type desk struct {
	scenario
	story
	agenda                []scheduled
	entries               int
	headsets              []*headset
	ready                 map[string]time.Time // by node: when the last event under way arrives
	suites                []*suite
	clients               *clients
	sink                  *logSink
	log                   *slog.Logger
	lists                 int       // how many lists were made up, without an Engine
	version               int       // of the catalogue
	strangers             []bool    // which are there
	seen                  []bool    // which were there when the agent read the sound last
	stalled, stalledUntil time.Time // from when and until when the agent reads nothing
	serverDown            bool      // the sound server is away
	serverBack            time.Time // when it last came or went
	serverWent            time.Time // when it went, if the agent has not seen it again; zero: it has
	servers               int       // how many there have been
	cards                 int       // how many indices of cards this one has given
	plugs                 int       // how many numbers of USB devices the kernel has given
	managerAway           bool      // the session manager is: there are cards, and no endpoints
	asleep                bool
	woke                  time.Time // when the machine woke last, as far as the agent knows
	unheardSleeps         int       // how many sleeps the agent was not told about yet
	waiting               []func()  // what the agent is told when it wakes

	engine      *engine.Engine
	starts      int                              // of the agent
	booted      time.Time                        // when it was started last
	stop        func(leave rpcclient.ExitPolicy) // ends the agent; nil: its program does not start any more
	rules       *hid.Rules
	wake        signal.Signal
	paused      bool
	pausedUntil time.Time // zero: until it is resumed

	engineMu sync.Mutex // guards what the goroutine of the Engine writes
	requests []request
	list     devices.Snapshot
}

// request is what an Engine asks of a device. Only that one gets the answer.
type request struct {
	hid.Request
	by *engine.Engine
}

// scheduled is something that happens later.
type scheduled struct {
	at time.Time
	do func()
}

func newDesk(s scenario, withStory bool) *desk {
	d := &desk{scenario: s, wake: signal.New(), ready: make(map[string]time.Time)}
	d.began, d.detailed = time.Now(), withStory
	for i, u := range s.Units {
		m := &s.Models[u.Model]
		h := &headset{
			unit: u, model: m, index: i, on: !u.Off || m.Bus != dongle, near: !u.Away || m.Bus != dongle, pressed: u.Muted, boomUp: u.BoomUp,
			reportedAt: make(map[int]time.Time), stuck: make(map[int]bool), noise: u.Quiet,
		}
		if u.Port != 0 {
			h.plugged, h.port, h.presence, h.sound, h.sounded = true, u.Port, 1, !u.NoAudio, !u.NoAudio
			d.plugs++
			h.devnum, h.came = d.plugs, time.Now()
			h.id = d.freeID(h)
		}
		d.headsets = append(d.headsets, h)
	}
	for _, x := range s.Strangers {
		d.strangers = append(d.strangers, x.There)
	}
	for i, s := range s.Suites {
		d.suites = append(d.suites, &suite{vendorSuite: s, desk: d, name: fmt.Sprint("suite-", i)})
	}
	d.sink = &logSink{}
	d.log = d.sink.logger()
	d.clients = newClients(s, &d.story, d.log)
	return d
}

// play runs the whole scenario.
func (d *desk) play() {
	d.boot()
	for _, s := range d.suites {
		if s.Runs {
			s.launch()
		}
	}
	for _, s := range d.Steps {
		if d.stop == nil {
			break
		}
		d.pass(time.Duration(s.After) * time.Millisecond)
		d.note(ofDesk, "step %s", asJSON{s})
		d.apply(s)
		d.await()
	}
	if d.stop != nil {
		d.awaitClients()
		d.stop("")
	}
	synctest.Wait()
	d.clients.close()
	synctest.Wait()
	d.sink.free()
}

// pass lets the time between two steps pass, and checks what clients hold.
func (d *desk) pass(span time.Duration) {
	if early := prompt + 100*time.Millisecond; span > early {
		d.rest(early)
		d.clients.checkPrompt()
		span -= early
	}
	d.rest(span)
	d.clients.checkPrompt()
}

// awaitClients lets all waits of the agent end, and checks what clients hold.
func (d *desk) awaitClients() {
	if len(d.Clients) == 0 {
		return
	}
	for range 4 {
		d.rest(maxRecovery + maxLate*time.Millisecond)
		if d.clients.quietFor(maxRecovery) {
			break
		}
	}
	d.clients.checkRest()
}

// instant returns the next free instant at or after t. All durations of the desk and of the agent are whole tenths
// of milliseconds, and instants are not, so none of the agent's timers ends at an instant of the desk.
func (d *desk) instant(t time.Time) time.Time {
	d.entries++
	const tick = 100 * time.Microsecond
	since := t.Sub(d.began)
	return d.began.Add((since + tick - 1).Truncate(tick) + time.Duration(d.entries%99_000+500))
}

// after makes something happen later.
func (d *desk) after(wait time.Duration, do func()) {
	e := scheduled{d.instant(time.Now().Add(wait)), do}
	i, _ := slices.BinarySearchFunc(d.agenda, e, func(a, b scheduled) int { return a.at.Compare(b.at) })
	d.agenda = slices.Insert(d.agenda, i, e)
}

// delay returns how long something takes, at most most. It depends on the seed, the time and what.
func (d *desk) delay(most time.Duration, what ...any) time.Duration {
	h := fnv.New64a()
	fmt.Fprintln(h, d.Seed, time.Since(d.began).Round(100*time.Microsecond), what)
	return time.Duration(h.Sum64() % uint64(most))
}

// rest lets the time pass, and does what is scheduled.
func (d *desk) rest(span time.Duration) {
	until := d.instant(time.Now().Add(span))
	for {
		next := until
		if len(d.agenda) > 0 && d.agenda[0].at.Before(until) {
			next = d.agenda[0].at
		}
		select {
		case <-d.wake: // the agent has asked for something
			d.await()
			continue
		case <-time.After(time.Until(next)):
		}
		if next.Equal(until) {
			return
		}
		e := d.agenda[0]
		d.agenda = d.agenda[1:]
		e.do()
		d.await()
	}
}

// await waits until all goroutines are blocked, and handles what the agent has asked for.
func (d *desk) await() {
	synctest.Wait()
	d.engineMu.Lock()
	asked := d.requests
	d.requests = nil
	d.engineMu.Unlock()
	for _, r := range asked {
		d.request(r)
	}
	d.checkInMotion()
}

// boot starts the agent.
func (d *desk) boot() {
	if len(d.Models) == 0 {
		if d.lists == 0 {
			d.publishMadeUp()
		}
		d.clients.startAgent()
		d.stop = d.clients.stopAgent
		return
	}
	set := d.settings(d.version)
	d.rules = set.Resolver.HID
	d.starts, d.booted = d.starts+1, time.Now()
	var e *engine.Engine
	e = engine.New(engine.Options{
		Settings: set, Sources: []string{"audio", "hid"}, Log: d.log, Pause: d.remainingPause(), Publish: d.publish,
		Ask: func(r hid.Request) { d.ask(e, r) }, HIDPPSoftwareID: byte(1 + 4*d.starts%15),
	})
	d.engine = e
	stop := inBackground(e.Run)
	d.clients.restart()
	d.stop = func(leave rpcclient.ExitPolicy) {
		d.clients.stopAgent(leave)
		stop()
		d.engineMu.Lock()
		d.requests = nil // no device gets them any more
		d.engineMu.Unlock()
	}
	for _, h := range d.headsets {
		if h.plugged && h.nodes == nil {
			d.enumerate(h)
		}
		h.invalidate()
	}
	d.open(false)
	d.listHID()
	d.readSound()
}

// bootAnew starts the agent after another one has ended. Suites see that and report anew.
func (d *desk) bootAnew() {
	d.list = devices.Snapshot{}
	d.boot()
	for _, s := range d.suites {
		s.statements = nil
		for _, h := range d.headsets {
			s.notice(h)
		}
	}
}

// listHID tells the Engine that all HID devices have been found.
func (d *desk) listHID() {
	d.after(d.delay(20*time.Millisecond, "hid"), func() {
		d.engine.Observe(devices.Observation{Source: "hid", At: time.Now()})
	})
}

// publishMadeUp publishes a list without an Engine. No two lists are equal.
func (d *desk) publishMadeUp() {
	muted, model := d.lists%2 == 1, fmt.Sprintf("Model %d", d.lists)
	if d.Long {
		model += strings.Repeat(".", 64<<10)
	}
	d.lists++
	d.clients.publish(devices.Snapshot{Generation: uint64(d.lists), At: time.Now(), Devices: []devices.Report{{Device: devices.Device{
		Type: devices.AudioInput, ID: "mic", Vendor: devices.Company{Name: "Acme", URL: "https://acme.example"},
		Model: devices.Company{Name: model, URL: "https://acme.example"}, Related: []string{}, HardwareMute: &muted,
	}}}})
}

// settings returns the agent's settings with a version of the catalogue.
func (d *desk) settings(version int) engine.Settings {
	cat, err := vendorCatalogue(d.Models, version)
	if err != nil {
		d.violate("catalogue", "%v", err)
		cat = &catalogue.Catalogue{}
	}
	r, err := catalogue.NewResolver(cat, devices.Options{OS: devices.Linux, IDMaxBytes: 127})
	if err != nil {
		d.violate("catalogue", "%v", err)
	}
	return engine.Settings{Resolver: r, RemovalGrace: removalGrace, StaleAfter: staleAfter}
}

func (d *desk) publish(s devices.Snapshot) {
	d.engineMu.Lock()
	defer d.engineMu.Unlock()
	d.note(ofDesk, "list %d %s", s.Generation, asJSON{s.Wire()})
	d.list = s
	d.clients.publish(s)
}

func (d *desk) ask(by *engine.Engine, r hid.Request) {
	d.note(ofDesk, "request %d to %s: % x % x", r.ID, r.Node, r.Output, r.Feature)
	d.engineMu.Lock()
	d.requests = append(d.requests, request{r, by})
	d.engineMu.Unlock()
	d.wake.Notify()
}

// published returns the list that the agent reports.
func (d *desk) published() devices.Snapshot {
	d.engineMu.Lock()
	defer d.engineMu.Unlock()
	return d.list
}

// whenAwake calls f now or, if the machine is asleep, when it wakes.
func (d *desk) whenAwake(f func()) {
	if d.asleep {
		d.waiting = append(d.waiting, f)
		return
	}
	f()
}

// readSound makes the agent list the endpoints again.
func (d *desk) readSound() {
	d.whenAwake(func() {
		d.after(d.delay(40*time.Millisecond, "look"), func() {
			o := devices.Observation{Source: "audio", At: time.Now()}
			if d.serverDown {
				o.Err = fmt.Errorf("the sound server is away")
			} else {
				for _, h := range d.headsets {
					o.Hardware = append(o.Hardware, d.cardsOf(h)...)
					if !d.managerAway {
						o.Endpoints = append(o.Endpoints, h.endpoints()...)
					}
				}
				o.Endpoints = append(o.Endpoints, d.foreign()...)
				d.seen = slices.Clone(d.strangers)
				d.serverReturned()
			}
			d.note(ofDesk, "audio %s %v", asJSON{o.Endpoints}, o.Err)
			d.engine.Observe(o)
		})
	})
}

// freeID returns the name that a sound server gives a card. A number distinguishes equal ones.
func (d *desk) freeID(h *headset) string {
	base := fmt.Sprintf("acme_%d_%s", h.Model, h.serial())
	id := base
	for n := 2; slices.ContainsFunc(d.headsets, func(o *headset) bool { return o.plugged && o != h && o.id == id }); n++ {
		id = fmt.Sprintf("%s.%d", base, n)
	}
	return id
}

// freeNode returns the lowest name of a hidraw node that is free.
func (d *desk) freeNode() string {
	for n := 0; ; n++ {
		name := fmt.Sprint("hidraw", n)
		if !slices.ContainsFunc(d.headsets, func(h *headset) bool {
			return slices.ContainsFunc(h.nodes, func(o *node) bool { return o.device.Node == name })
		}) {
			return name
		}
	}
}

// enumerate creates the nodes of a headset that is plugged in.
func (d *desk) enumerate(h *headset) {
	h.nodes = nil
	for i := range h.interfaces() {
		descriptor := h.descriptor(i)
		if descriptor == nil {
			continue
		}
		number := i
		if h.Bus == bluetooth {
			number = -1
		}
		n := &node{iface: i}
		n.device = hid.Device{
			Node: d.freeNode(), Bus: h.bus(), VID: vid, PID: pid(h.Model), Serial: h.serial(), Container: h.container(1), Interface: number,
			Name: h.name(h.Model), Descriptor: descriptor,
		}
		h.nodes = append(h.nodes, n)
	}
}

// open opens the nodes that the catalogue's rules want, and closes others.
func (d *desk) open(plugged bool) {
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			switch want := d.rules.Wants(n.device); {
			case n.denied:
			case want && !n.open:
				d.attach(h, n, plugged)
			case !want && (n.open || n.failed):
				d.close(h, n)
			}
		}
	}
}

func (d *desk) attach(h *headset, n *node, plugged bool) {
	d.deliver(n, hid.Event{Kind: hid.Attached, Node: n.device.Node, Device: &n.device, Plugged: plugged}, func() {
		n.open, n.failed, n.empty, n.unsent = true, false, time.Now(), nil
		h.invalidate()
	})
}

func (d *desk) close(h *headset, n *node) {
	n.open, n.failed = false, false
	d.deliver(n, hid.Event{Kind: hid.Gone, Node: n.device.Node}, h.invalidate)
}

// markSince says when the queue of a node was last seen empty before a report. A reader looks again and again after a report, at doubling
// intervals, but not while it is stalled.
func (d *desk) markSince(n *node, e *hid.Event, held bool) {
	looks := e.At
	if held {
		looks = d.stalled
	}
	for wait := 5 * time.Millisecond; wait <= 5120*time.Millisecond && !n.empty.Add(wait).After(looks); wait *= 2 {
		n.empty = n.empty.Add(wait)
	}
	e.Since, n.since = n.empty, n.empty
	if n.held == 0 {
		n.empty = e.At
	}
}

// lookAgain has the agent look at all queues, as after a sleep.
func (d *desk) lookAgain() {
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			if n.held == 0 {
				n.empty = time.Now()
			}
		}
	}
}

// deliver tells the agent of an event of a node, in order and after a delay. then is called at that time.
func (d *desk) deliver(n *node, e hid.Event, then func()) {
	d.whenAwake(func() {
		at := time.Now().Add(d.delay(12*time.Millisecond, n.device.Node, e.Kind))
		held := e.Kind == hid.Report && at.Before(d.stalledUntil)
		if held {
			n.held++
		}
		if at.Before(d.stalledUntil) {
			at = d.stalledUntil
		}
		if ready := d.ready[n.device.Node]; at.Before(ready) {
			at = ready
		}
		d.ready[n.device.Node] = at
		d.after(time.Until(at), func() {
			if held {
				n.held--
			}
			if e.Kind == hid.Report && !n.open || e.Kind == hid.Attached && n.gone {
				return
			}
			e.At = time.Now()
			if e.Kind == hid.Report {
				d.markSince(n, &e, held)
			}
			d.note(ofDesk, "hid %s", asJSON{e})
			then()
			d.engine.HID(e)
		})
	})
}
