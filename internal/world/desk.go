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
	"sidetone/internal/signal"
)

// Times of the agent under test, as its settings have them by default.
const (
	removalGrace = time.Second
	staleAfter   = 30 * time.Second
)

// desk is a scenario that is being played. All that happens is done by one goroutine; no two things
// happen at one instant, so that equal scenarios give equal runs.
type desk struct {
	scenario
	story
	agenda        []scheduled
	entries       int
	headsets      []*headset
	ready         map[string]time.Time // by node: when the last event on its way arrives
	suites        []*suite
	clients       *clients
	lists         int // that were made up, without an Engine
	version       int
	serverDown    bool // the sound server is away
	asleep        bool
	woke          time.Time // when the machine woke last, as far as the agent has heard
	unheardSleeps int       // how often the machine has slept without the agent having heard of it
	waiting       []func()  // what the agent hears when it wakes

	engine      *agentEngine   // that reports
	hearing     []*agentEngine // that, and one which is to go on in its place
	stop        func()
	rules       *hid.Rules
	wake        signal.Signal
	paused      bool
	pausedUntil time.Time // zero: until it is resumed

	handed sync.Mutex // of what the Engine's goroutine hands over
	asked  []request
	list   devices.Snapshot
}

// agentEngine is that of one agent.
type agentEngine struct {
	*engine.Engine
	stop func(cause error)
	list devices.Snapshot // the newest
}

// request is one of an Engine.
type request struct {
	hid.Request
	by *agentEngine
}

// scheduled is something that will happen.
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
			unit: u, model: m, index: i, on: !u.Off, near: !u.Away, pressed: u.Muted, boomUp: u.BoomUp,
			heardAt: make(map[int]time.Time), stuck: make(map[int]bool),
		}
		if m.Bus != dongle {
			h.on, h.near = true, true
		}
		if u.Port != 0 {
			h.plugged, h.port, h.presence, h.sound, h.paired = true, u.Port, 1, !u.NoAudio, true
			h.id = d.freeID(h)
		}
		d.headsets = append(d.headsets, h)
	}
	for i, s := range s.Suites {
		d.suites = append(d.suites, &suite{vendorSuite: s, desk: d, name: fmt.Sprint("suite-", i)})
	}
	d.clients = newClients(s, &d.story)
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
		d.pass(time.Duration(s.After) * time.Millisecond)
		d.note(ofDesk, "step %s", asJSON{s})
		d.apply(s)
		d.settle()
	}
	d.awaitClients()
	d.stop()
	synctest.Wait()
	d.clients.close()
	synctest.Wait()
}

// pass lets the time pass between two steps, and looks whether what had to be prompt was.
func (d *desk) pass(span time.Duration) {
	if early := prompt + 100*time.Millisecond; span > early {
		d.rest(early)
		d.clients.checkPrompt()
		span -= early
	}
	d.rest(span)
	d.clients.checkPrompt()
}

// awaitClients lets pass what the agent may owe to clients, since the last change of the list.
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

// instant is the next free one, at or after t. Times between things that happen are whole tenths of
// milliseconds and the agent's are, too: so none of its timers ends at an instant of the desk.
func (d *desk) instant(t time.Time) time.Time {
	d.entries++
	const tick = 100 * time.Microsecond
	since := t.Sub(d.began)
	return d.began.Add((since + tick - 1).Truncate(tick) + time.Duration(d.entries%99_000+500))
}

// after has something happen later.
func (d *desk) after(wait time.Duration, do func()) {
	e := scheduled{d.instant(time.Now().Add(wait)), do}
	i, _ := slices.BinarySearchFunc(d.agenda, e, func(a, b scheduled) int { return a.at.Compare(b.at) })
	d.agenda = slices.Insert(d.agenda, i, e)
}

// delay is how long something takes, drawn from the seed: up to most.
func (d *desk) delay(most time.Duration, what ...any) time.Duration {
	h := fnv.New64a()
	fmt.Fprintln(h, d.Seed, time.Since(d.began).Round(100*time.Microsecond), what)
	return time.Duration(h.Sum64() % uint64(most))
}

// rest lets the time pass.
func (d *desk) rest(span time.Duration) {
	until := d.instant(time.Now().Add(span))
	for {
		next := until
		if len(d.agenda) > 0 && d.agenda[0].at.Before(until) {
			next = d.agenda[0].at
		}
		if !d.sleep(next) {
			d.settle()
			continue
		}
		if next.Equal(until) {
			return
		}
		e := d.agenda[0]
		d.agenda = d.agenda[1:]
		e.do()
		d.settle()
	}
}

// sleep returns at t, or false if the agent wants something before.
func (d *desk) sleep(t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.wake:
		return false
	}
}

// settle waits until nothing is going on, and takes what the agent has asked for.
func (d *desk) settle() {
	synctest.Wait()
	d.handed.Lock()
	asked := d.asked
	d.asked = nil
	d.handed.Unlock()
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
	d.rules = set.HIDRules()
	d.engine = d.newEngine(set, d.remainingPause())
	d.hearing = []*agentEngine{d.engine}
	d.clients.restart()
	d.stop = func() {
		d.clients.stopAgent()
		d.engine.stop(nil)
	}
	for _, h := range d.headsets {
		if h.plugged {
			d.enumerate(h)
			h.invalidate()
		}
	}
	d.open(false)
	d.listHID()
	d.readSound()
}

// newEngine starts that of an agent. What it publishes counts once it is the one that reports.
func (d *desk) newEngine(set engine.Settings, pause *engine.Pause) *agentEngine {
	e := &agentEngine{}
	e.Engine = engine.New(engine.Options{
		Settings: set, Sources: []string{"audio", "hid"}, Log: slog.New(slog.DiscardHandler), Pause: pause,
		Publish: func(s devices.Snapshot) { d.publish(e, s) }, Ask: func(r hid.Request) { d.ask(request{r, e}) },
	})
	e.stop = inBackground(e.Run)
	return e
}

// tell has all Engines hear of something.
func (d *desk) tell(f func(*agentEngine)) {
	for _, e := range d.hearing {
		f(e)
	}
}

// listHID has the Engines hear that all HID devices have been found.
func (d *desk) listHID() {
	d.after(d.delay(20*time.Millisecond, "hid"), func() {
		d.tell(func(e *agentEngine) { e.Observe(devices.Observation{Source: "hid", At: time.Now()}) })
	})
}

// publishMadeUp publishes a list without an Engine. No two are equal.
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

func (d *desk) publish(by *agentEngine, s devices.Snapshot) {
	d.handed.Lock()
	defer d.handed.Unlock()
	by.list = s
	if by != d.engine {
		return
	}
	d.note(ofDesk, "list %d %s", s.Generation, asJSON{s.Wire()})
	d.list = s
	d.clients.publish(s)
}

func (d *desk) ask(r request) {
	d.note(ofDesk, "request %d to %s: % x % x", r.ID, r.Node, r.Output, r.Feature)
	d.handed.Lock()
	d.asked = append(d.asked, r)
	d.handed.Unlock()
	d.wake.Notify()
}

// published is the list that the agent reports.
func (d *desk) published() devices.Snapshot {
	d.handed.Lock()
	defer d.handed.Unlock()
	return d.list
}

// whenAwake has the agent hear of something now, or as soon as it is awake.
func (d *desk) whenAwake(f func()) {
	if d.asleep {
		d.waiting = append(d.waiting, f)
		return
	}
	f()
}

// readSound has the sound server's news read.
func (d *desk) readSound() {
	d.whenAwake(func() {
		d.after(d.delay(40*time.Millisecond, "look"), func() {
			o := devices.Observation{Source: "audio", At: time.Now()}
			if d.serverDown {
				o.Err = fmt.Errorf("the sound server is away")
			} else {
				for _, h := range d.headsets {
					o.Endpoints = append(o.Endpoints, h.endpoints()...)
				}
			}
			d.note(ofDesk, "audio %s %v", asJSON{o.Endpoints}, o.Err)
			d.tell(func(e *agentEngine) { e.Observe(o) })
		})
	})
}

// freeID is the name that a sound server gives a card: equal ones are told apart by a number.
func (d *desk) freeID(h *headset) string {
	base := fmt.Sprintf("acme_%d_%s", h.Model, h.serial())
	id := base
	for n := 2; slices.ContainsFunc(d.headsets, func(o *headset) bool { return o.plugged && o != h && o.id == id }); n++ {
		id = fmt.Sprintf("%s.%d", base, n)
	}
	return id
}

// freeNode is the lowest number of a hidraw node that is free.
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

// enumerate makes the nodes of a headset that is plugged in.
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

// open opens what the catalogue's rules want and closes what they do not want any more.
func (d *desk) open(plugged bool) {
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			switch want := d.rules.Wants(n.device); {
			case n.denied:
			case want && !n.open:
				d.attach(h, n, plugged)
			case !want && n.open:
				d.close(h, n, "")
			}
		}
	}
}

func (d *desk) attach(h *headset, n *node, plugged bool) {
	d.deliver(h, n, hid.Event{Kind: hid.Attached, Node: n.device.Node, Device: &n.device, Plugged: plugged}, func() {
		n.open = true
		h.invalidate()
	})
}

func (d *desk) close(h *headset, n *node, failure string) {
	n.open = false
	d.deliver(h, n, hid.Event{Kind: hid.Gone, Node: n.device.Node, Error: failure}, h.invalidate)
}

// deliver has the agent hear an event of a node after those before it.
func (d *desk) deliver(h *headset, n *node, e hid.Event, then func()) {
	d.whenAwake(func() {
		at := time.Now().Add(d.delay(12*time.Millisecond, n.device.Node, e.Kind))
		if ready := d.ready[n.device.Node]; at.Before(ready) {
			at = ready
		}
		d.ready[n.device.Node] = at
		d.after(time.Until(at), func() {
			if e.Kind == hid.Report && !n.open || e.Kind == hid.Attached && n.gone {
				return
			}
			e.At = time.Now()
			d.note(ofDesk, "hid %s", asJSON{e})
			then()
			d.tell(func(to *agentEngine) { to.HID(e) })
		})
	})
}
