package world

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// apply does what a step says. One that makes no sense as things are does nothing.
func (d *desk) apply(s Step) {
	var h *headset
	if s.Unit < len(d.headsets) {
		h = d.headsets[s.Unit]
	}
	wait := time.Duration(s.MS) * time.Millisecond
	switch s.Do {
	case Plug:
		d.plug(h, s.Port, wait)
	case Unplug:
		d.unplug(h, wait)
	case Press:
		d.press(h)
	case Boom:
		if h.Boom && h.on {
			d.change(h, byOther, func() { h.boomUp = !h.boomUp })
		}
	case Auto, LED:
		if h.reachable() && (s.Do == Auto || h.LED) {
			d.change(h, byOther, func() { h.pressed = !h.pressed })
		}
	case OSSet:
		d.osMute(h)
	case Power:
		if h.Bus == Dongle {
			d.change(h, byLink, func() {
				if h.on = !h.on; h.on && !h.Keeps {
					h.pressed = false
				}
				d.pair(h)
			})
		}
	case Range:
		if h.Bus == Dongle {
			d.change(h, byLink, func() {
				h.near = !h.near
				d.pair(h)
			})
		}
	case Sound:
		if h.plugged {
			h.sound = !h.sound
			d.look()
			for _, s := range d.suites {
				s.stir(h)
			}
		}
	case Volume:
		if len(h.Noise) > 0 && h.reachable() {
			d.sendOn(h, 0, []byte{byte(h.Noise[s.Port%len(h.Noise)]), byte(s.N), byte(s.N >> 8), 0}, nil)
		}
	case Lose:
		d.lose(h)
	case Break:
		d.breakNode(h, s.N, wait)
	case Server:
		if d.deaf = !d.deaf; d.deaf {
			d.deafAt = time.Now()
		}
		d.look()
	case Sleep:
		d.sleepThrough(s.During, wait, s.N == 0)
	case Run:
		if s.N < len(d.suites) {
			if s := d.suites[s.N]; s.runs {
				s.crash()
			} else {
				s.launch()
			}
		}
	case Reload:
		d.reload(s.N)
	case Restart:
		d.restart()
	case ToClient:
		d.clients.do(*s.Client)
	case Rest:
		d.rest(wait)
		d.clients.checkPrompt()
		d.atRest()
	}
}

// press is the button's. Where a program has the mute the press is a request to it.
func (d *desk) press(h *headset) {
	switch {
	case !h.on:
	case !slices.ContainsFunc(h.Tells, func(t Tell) bool { return t.Form == FormLamp }):
		d.change(h, byButton, func() { h.pressed = !h.pressed })
	case h.plugged && !d.asleep:
		presence := h.presence
		d.after(50*time.Millisecond+d.delay(50*time.Millisecond, h.index, "lamp"), func() {
			if h.plugged && h.presence == presence {
				d.change(h, byOther, func() { h.pressed = !h.pressed })
			}
		})
	}
}

// pair is for a headset that has come into the reach of its dongle, or not.
func (d *desk) pair(h *headset) {
	if !h.reachable() {
		return
	}
	if h.ResetsUp || !h.paired && !h.Keeps {
		h.pressed = false
	}
	h.paired = true
}

func (d *desk) plug(h *headset, port int, wait time.Duration) {
	if h.plugged {
		return
	}
	for _, o := range d.headsets {
		if o.plugged && o.port == port && o.Bus != Bluetooth && h.Bus != Bluetooth {
			return
		}
	}
	d.change(h, byLink, func() {
		h.plugged, h.port, h.paired = true, port, false
		h.presence++
		if h.Bus == USB && !h.Keeps {
			h.pressed = false
		}
		h.sound = false
		d.enumerate(h)
		h.lapse()
		for _, n := range h.nodes {
			if d.rules.Wants(n.device) {
				d.attach(h, n, !d.asleep)
			}
		}
		d.pair(h)
	})
	d.look() // the OS does not miss that it was gone
	if d.deaf {
		d.unseen(h)
	}
	presence := h.presence
	d.after(max(wait, 50*time.Millisecond), func() {
		if h.plugged && h.presence == presence && !h.NoAudio {
			h.id = d.freeID(h)
			h.sound = true
			d.look()
			for _, s := range d.suites {
				s.stir(h)
			}
		}
	})
}

func (d *desk) unplug(h *headset, wait time.Duration) {
	if !h.plugged {
		return
	}
	d.change(h, byLink, func() {
		h.plugged = false
		for _, n := range h.nodes {
			n.gone = true
			if n.open {
				d.close(h, n, "")
			}
		}
		h.nodes = nil
		h.lapse()
	})
	d.after(wait, d.look)
}

func (d *desk) osMute(h *headset) {
	if !h.plugged || !h.sound || d.deaf {
		return
	}
	switch h.OSMute {
	case OSSoft:
		h.osMute = !h.osMute
		d.look()
	case OSShared:
		if h.up() {
			d.change(h, byOther, func() { h.pressed = !h.pressed })
		}
	}
}

// lose has the button pressed without the agent hearing of it, but that it may have missed something.
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
		d.deliver(h, n, hid.Event{Kind: hid.Lost, Node: n.device.Node}, h.lapse)
	}
}

// breakNode has the reading of an interface fail for a while.
func (d *desk) breakNode(h *headset, iface int, wait time.Duration) {
	n := h.node(iface)
	if n == nil || !n.open {
		return
	}
	d.close(h, n, "input/output error")
	if wait < 0 {
		d.deliver(h, n, hid.Event{Kind: hid.Denied, Node: n.device.Node, Device: &n.device, Error: "permission denied"}, h.lapse)
		n.denied = true
		return
	}
	d.after(wait, func() {
		if !n.gone && !n.denied && d.rules.Wants(n.device) && !n.open {
			d.attach(h, n, false)
		}
	})
}

// sleepThrough has the machine sleep. No time passes for its programs; what happens meanwhile nobody
// hears, but for what is plugged in or not when it wakes.
func (d *desk) sleepThrough(during []Step, wait time.Duration, known bool) {
	d.asleep = true
	d.dreams++
	for _, s := range during {
		if s.Do != Sleep && s.Do != Rest && s.Do != Reload && s.Do != Restart && s.Do != Run && s.Do != ToClient {
			d.apply(s)
		}
	}
	d.asleep = false
	woke := time.Now()
	waiting := d.waiting
	d.waiting = nil
	for _, h := range d.headsets {
		h.lapse()
	}
	for _, f := range waiting {
		f()
	}
	d.after(wait, func() {
		d.note("resumed")
		d.dreams--
		if !known {
			woke = time.Time{}
			for _, h := range d.headsets {
				h.lapse()
			}
		}
		if d.woke = woke; !known {
			d.woke = time.Now()
		}
		d.engine.Resumed(woke)
		d.after(time.Millisecond, func() { d.clients.do(ClientStep{Do: Resend}) })
		d.look()
	})
}

func (d *desk) reload(version int) {
	cat, err := vendorCatalogue(d.Models, version)
	if err != nil {
		d.violate("catalogue", "%v", err)
		return
	}
	d.version = version
	set := d.settings(cat)
	d.rules = set.HIDRules()
	d.engine.Configure(set)
	for _, h := range d.headsets {
		h.lapse()
	}
	d.open(false)
}

func (d *desk) restart() {
	d.stop()
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			n.open, n.gone = false, true
		}
	}
	d.list = devices.Snapshot{}
	d.boot()
	for _, s := range d.suites {
		s.words = nil
		for _, h := range d.headsets {
			s.stir(h)
		}
	}
}
