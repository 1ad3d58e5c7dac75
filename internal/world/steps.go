package world

import (
	"fmt"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// atHeadset says what each action does to a headset. These may also happen while the machine sleeps.
var atHeadset = map[action]func(*desk, *headset, scenarioStep){
	doPlug:   func(d *desk, h *headset, s scenarioStep) { d.plug(h, s.Port, s.wait(), s.N == 0) },
	doUnplug: func(d *desk, h *headset, s scenarioStep) { d.unplug(h, s.wait()) },
	doPress:  func(d *desk, h *headset, _ scenarioStep) { d.press(h) },
	doBoom: func(d *desk, h *headset, _ scenarioStep) {
		if h.Boom && h.on {
			d.change(h, byOther, func() { h.boomUp = !h.boomUp })
		}
	},
	doAuto:  func(d *desk, h *headset, _ scenarioStep) { d.turn(h, h.reachable()) },
	doLED:   func(d *desk, h *headset, _ scenarioStep) { d.turn(h, h.reachable() && h.LED) },
	doOSSet: func(d *desk, h *headset, _ scenarioStep) { d.osMute(h) },
	doPower: func(d *desk, h *headset, _ scenarioStep) {
		d.link(h, func() {
			if h.on = !h.on; h.on && !h.Keeps {
				h.pressed = false
			}
		})
	},
	doRange: func(d *desk, h *headset, _ scenarioStep) { d.link(h, func() { h.near = !h.near }) },
	doSound: func(d *desk, h *headset, _ scenarioStep) {
		if h.plugged {
			d.setSound(h, !h.sound)
		}
	},
	doVolume: func(d *desk, h *headset, s scenarioStep) {
		if len(h.Noise) > 0 && h.reachable() {
			d.sendOn(h, 0, []byte{byte(h.Noise[s.Port%len(h.Noise)]), byte(s.N), byte(s.N >> 8), 0}, func(*node) {})
		}
	},
	doNoise: func(d *desk, h *headset, _ scenarioStep) {
		if h.on {
			d.change(h, byOther, func() { h.noise = !h.noise })
		}
	},
	doAsk: func(d *desk, h *headset, s scenarioStep) { d.askFromElsewhere(h, s.N, byte(s.Port)) },
	doRoute: func(d *desk, h *headset, s scenarioStep) {
		h.route = s.N % 3
		d.readSound()
	},
	doLose:  func(d *desk, h *headset, _ scenarioStep) { d.lose(h) },
	doBreak: func(d *desk, h *headset, s scenarioStep) { d.breakNode(h, s.N, s.wait()) },
}

// atDesk says what each action does to the rest of the desk, except clients.
var atDesk = map[action]func(*desk, scenarioStep){
	doServer:  func(d *desk, _ scenarioStep) { d.turnServer() },
	doSleep:   func(d *desk, s scenarioStep) { d.sleepThrough(s.During, s.wait(), s.N == 0) },
	doStall:   func(d *desk, s scenarioStep) { d.stall(s.During, s.wait()) },
	doForeign: func(d *desk, s scenarioStep) { d.moveStranger(s.N) },
	doManager: func(d *desk, s scenarioStep) { d.restartManager(s.wait()) },
	doRun:     func(d *desk, s scenarioStep) { d.runSuite(s.N) },
	doReload:  func(d *desk, s scenarioStep) { d.reload(s.N) },
	doRestart: func(d *desk, _ scenarioStep) { d.restart() },
	doReplace: func(d *desk, s scenarioStep) { d.replace(s) },
	doPause:   func(d *desk, s scenarioStep) { d.pause(s.wait()) },
	doResume:  func(d *desk, _ scenarioStep) { d.resume() },
	doRest: func(d *desk, s scenarioStep) {
		d.rest(s.wait())
		d.clients.checkPrompt()
		d.atRest()
	},
	doLog:     func(d *desk, _ scenarioStep) { d.sink.turn() },
	doPublish: func(d *desk, _ scenarioStep) { d.publishMadeUp() },
}

func (s scenarioStep) wait() time.Duration { return time.Duration(s.MS) * time.Millisecond }

// apply does a step. One that makes no sense at the time does nothing.
func (d *desk) apply(s scenarioStep) {
	if do, is := atDesk[s.Do]; is {
		do(d, s)
	} else if !d.applyToHeadset(s) {
		d.clients.do(s)
	}
}

func (d *desk) applyToHeadset(s scenarioStep) bool {
	do, is := atHeadset[s.Do]
	if is && s.Unit < len(d.headsets) {
		do(d, d.headsets[s.Unit], s)
	}
	return is
}

// turn changes the mute by other means than the button, if can is true.
func (d *desk) turn(h *headset, can bool) {
	if can {
		d.change(h, byOther, func() { h.pressed = !h.pressed })
	}
}

// link changes whether a headset can reach its dongle.
func (d *desk) link(h *headset, f func()) {
	if h.Bus == dongle {
		d.change(h, byLink, func() {
			f()
			d.pair(h)
		})
	}
}

// setSound changes whether the OS lists the endpoints of a headset.
func (d *desk) setSound(h *headset, on bool) {
	h.sound, h.sounded = on, h.sounded || on
	d.readSound()
	for _, s := range d.suites {
		s.notice(h)
	}
}

func (d *desk) turnServer() {
	d.serverDown, d.serverBack = !d.serverDown, time.Now()
	switch {
	case !d.serverDown:
		d.servers, d.cards = d.servers+1, 0
		for _, h := range d.headsets {
			h.carded = false
		}
	case d.serverWent.IsZero():
		d.serverWent = d.serverBack
	}
	d.readSound()
}

// runSuite starts a suite, or crashes it.
func (d *desk) runSuite(n int) {
	if n >= len(d.suites) {
		return
	}
	if s := d.suites[n]; s.runs {
		s.crash()
	} else {
		s.launch()
	}
}

// press presses the button. If a program has the mute, that is a request to the program.
func (d *desk) press(h *headset) {
	switch {
	case !h.on:
	case !slices.ContainsFunc(h.Channels, func(t channel) bool { return t.Form == formLamp }):
		d.change(h, byButton, func() { h.pressed = !h.pressed })
	case h.plugged && !d.asleep:
		presence := h.presence
		d.after(50*time.Millisecond+d.delay(50*time.Millisecond, h.index, "lamp"), func() {
			d.turn(h, h.plugged && h.presence == presence)
		})
	}
}

// pair resets the mute of a headset that has come into reach of its dongle, if its model does that.
func (d *desk) pair(h *headset) {
	if h.reachable() && h.ResetsUp {
		h.pressed = false
	}
}

// search makes a dongle that was just plugged in say that it has no headset, and find it a moment later.
func (d *desk) search(h *headset) {
	if h.searching = h.Searches; !h.Searches {
		return
	}
	presence := h.presence
	for i, t := range h.Channels {
		if t.Of == ofLink {
			d.after(100*time.Millisecond, func() {
				if h.plugged && h.presence == presence {
					d.sendState(h, i, false)
				}
			})
		}
	}
	d.after(1500*time.Millisecond, func() {
		if h.plugged && h.presence == presence {
			d.change(h, byLink, func() { h.searching = false })
		}
	})
}

// askFromElsewhere makes another program ask a device for the state of a channel. The answer goes to everybody who reads.
func (d *desk) askFromElsewhere(h *headset, channel int, softwareID byte) {
	if channel >= len(h.Channels) || !h.reachable() || d.asleep {
		return
	}
	t := h.Channels[channel]
	n := h.node(t.Interface)
	if n == nil || n.gone {
		return
	}
	ask := func(output ...byte) {
		r := request{Request: hid.Request{Node: n.device.Node, Output: slices.Concat(output, make([]byte, 16))}}
		d.after(h.rouse()+d.delay(10*time.Millisecond, "elsewhere", output), func() { d.handleRequest(h, n, r) })
	}
	switch t.Form {
	case formAnswer:
		ask(t.Ask, max(t.Property, 1))
	case formHIDPP:
		ask(hidppReport, 0xff, 0, softwareID, byte(t.hidppFeature()>>8), byte(t.hidppFeature()))
		ask(hidppReport, 0xff, hidppPlace(channel), 1<<4|softwareID)
	}
}

// stall stops the agent's reading for a while, as on a machine that swaps. What devices send queues.
func (d *desk) stall(during []scenarioStep, span time.Duration) {
	d.stalled = time.Now()
	d.stalledUntil = d.stalled.Add(span)
	for _, s := range during {
		d.rest(span / time.Duration(len(during)+1))
		if s.Do == doSleep {
			d.sleepThrough(nil, s.wait(), true)
		}
		d.applyToHeadset(s)
		d.await()
	}
	d.rest(span/time.Duration(len(during)+1) + 20*time.Millisecond)
}

// restartManager takes all endpoints away for a while.
func (d *desk) restartManager(span time.Duration) {
	if d.managerAway || d.serverDown {
		return
	}
	d.managerAway = true
	d.readSound()
	d.after(max(span, 50*time.Millisecond), func() {
		d.managerAway = false
		d.readSound()
	})
}

// foreign returns the endpoints of other microphones that are there.
func (d *desk) foreign() (list []devices.Endpoint) {
	if slices.ContainsFunc(d.headsets, func(h *headset) bool { return h.route == 2 }) {
		list = append(list, devices.Endpoint{Source: "audio", ID: builtIn, Type: devices.AudioInput, Name: "Built-in", Bus: devices.PCI})
	}
	for i, there := range d.strangers {
		if there {
			model := d.Strangers[i].Model
			list = append(list, devices.Endpoint{
				Source: "audio", ID: fmt.Sprint("in.stranger_", i), Type: devices.AudioInput, Name: d.Models[model].name(model),
				Bus: devices.USB, VID: "0d8c", PID: "0014", Container: fmt.Sprint("usb:9-", i),
			})
		}
	}
	return list
}

func (d *desk) moveStranger(n int) {
	if n < len(d.strangers) {
		d.strangers[n] = !d.strangers[n]
		d.readSound()
	}
}

// plug plugs a headset in. Without powered the hub above had kept its power: the headset starts nothing, and the OS sees both arrive.
func (d *desk) plug(h *headset, port int, wait time.Duration, powered bool) {
	if h.plugged {
		return
	}
	for _, o := range d.headsets {
		if o.plugged && o.port == port && o.Bus != bluetooth && h.Bus != bluetooth {
			return
		}
	}
	d.change(h, byLink, func() {
		h.plugged, h.port = true, port
		h.presence++
		d.plugs++
		h.devnum, h.came = d.plugs, time.Now()
		if h.Bus == usb && !h.Keeps && powered {
			h.pressed = false
		}
		h.sound, h.sounded = false, false
		d.enumerate(h)
		h.invalidate()
		for _, n := range h.nodes {
			if d.rules.Wants(n.device) {
				d.attach(h, n, !d.asleep && powered)
			}
		}
		d.search(h)
	})
	d.readSound()                  // the OS notices even a short absence
	if d.serverDown && h.NoAudio { // no card of it shows that
		d.missAbsence(h)
	}
	presence := h.presence
	d.after(max(wait, 50*time.Millisecond), func() {
		if h.plugged && h.presence == presence && !h.NoAudio {
			h.id = d.freeID(h)
			d.setSound(h, true)
		}
	})
}

func (d *desk) unplug(h *headset, wait time.Duration) {
	if !h.plugged {
		return
	}
	d.change(h, byLink, func() {
		h.plugged, h.carded = false, false
		for _, n := range h.nodes {
			n.gone = true
			if n.open || n.failed || n.denied {
				d.close(h, n)
			}
		}
		h.nodes = nil
		h.invalidate()
	})
	d.after(wait, d.readSound)
}

func (d *desk) osMute(h *headset) {
	if !h.plugged || !h.sound || d.serverDown {
		return
	}
	switch h.OSMute {
	case osSoft:
		h.osMute = !h.osMute
		d.readSound()
	case osShared:
		d.turn(h, h.up())
	}
}

// lose presses the button and loses the report. The agent learns only that reports were lost.
func (d *desk) lose(h *headset) {
	if !h.reachable() || len(h.nodes) == 0 || d.asleep {
		return
	}
	var open []*node
	for _, n := range h.nodes {
		if n.open {
			n.open, open = false, append(open, n)
		}
	}
	d.change(h, byButton, func() { h.pressed = !h.pressed })
	for _, n := range open {
		n.open = true
		d.deliver(n, hid.Event{Kind: hid.Lost, Node: n.device.Node}, h.invalidate)
	}
}

// breakNode makes reading an interface fail for a while; wait < 0: for good.
func (d *desk) breakNode(h *headset, iface int, wait time.Duration) {
	n := h.node(iface)
	if n == nil || !n.open {
		return
	}
	n.open, n.failed = false, true
	d.deliver(n, hid.Event{Kind: hid.Failed, Node: n.device.Node, Error: "input/output error"}, h.invalidate)
	if wait < 0 {
		d.deliver(n, hid.Event{Kind: hid.Denied, Node: n.device.Node, Device: &n.device, Error: "permission denied"}, h.invalidate)
		n.failed, n.denied = false, true
		return
	}
	d.after(wait, func() {
		if !n.gone && !n.denied && d.rules.Wants(n.device) && !n.open {
			d.attach(h, n, false)
		}
	})
}

// sleepThrough makes the machine sleep. No time passes for its programs. They notice nothing of what
// happens during it, except what is plugged in when it wakes.
func (d *desk) sleepThrough(during []scenarioStep, wait time.Duration, known bool) {
	d.asleep = true
	d.unheardSleeps++
	for _, s := range during {
		if !d.applyToHeadset(s) && s.Do == doServer {
			d.turnServer()
		}
	}
	d.asleep = false
	woke := time.Now()
	waiting := d.waiting
	d.waiting = nil
	for _, h := range d.headsets {
		h.invalidate()
	}
	for _, f := range waiting {
		f()
	}
	d.after(wait, func() {
		d.note(ofDesk, "resumed")
		d.unheardSleeps--
		if woke.After(d.woke) {
			d.woke = woke
		}
		if !known {
			woke, d.woke = time.Time{}, time.Now()
			for _, h := range d.headsets {
				h.invalidate()
			}
		}
		d.engine.Resumed(woke)
		d.lookAgain()
		d.after(time.Millisecond, func() { d.clients.do(scenarioStep{Do: doResend}) })
		d.readSound()
	})
}

func (d *desk) reload(version int) {
	d.version = version
	set := d.settings(version)
	d.rules = set.Resolver.HID
	d.engine.Configure(set)
	for _, h := range d.headsets {
		h.invalidate()
	}
	d.open(false)
}

func (d *desk) restart() {
	d.stop("")
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			n.open, n.gone = false, true
		}
		h.nodes = nil
	}
	d.bootAnew()
}
