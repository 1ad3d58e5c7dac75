package world

import (
	"cmp"
	"time"

	"sidetone/internal/hid"
)

// cause is why a headset reports something.
type cause int

const (
	byButton cause = iota
	byOther        // its boom, its firmware or a host
	byLink         // it has come into reach or gone out of it
)

// invalidate notes that the agent has to forget everything it was told before.
func (h *headset) invalidate() { h.validSince = time.Now() }

// change changes the state of the headset, and makes it report what is new.
func (d *desk) change(h *headset, why cause, f func()) {
	before := make([]bool, len(h.Channels))
	for i, t := range h.Channels {
		before[i] = h.state(t.Of)
	}
	was, muted := h.reachable(), h.muted()
	f()
	if h.muted() != muted {
		h.turned = time.Now()
	}
	arrived := why == byLink && h.reachable() && !was
	if h.reachable() != was {
		h.invalidate()
	}
	if was && !h.reachable() {
		h.left = time.Now()
	}
	for i, t := range h.Channels {
		changed := before[i] != h.state(t.Of)
		if t.Of == ofLink {
			if changed && h.plugged {
				d.sendState(h, i, false)
			}
			continue
		}
		switch {
		case !h.reachable():
		case arrived && t.AtLink:
			wait := 400*time.Millisecond + d.delay(100*time.Millisecond, h.index, i)
			d.after(wait, func() {
				if h.reachable() {
					d.sendState(h, i, true)
				}
			})
		case changed && why != byLink, why == byButton && !t.Form.isState():
			d.sendState(h, i, false)
		}
	}
	if h.muted() != muted && h.mutesInOS() {
		d.readSound()
	}
	for _, s := range d.suites {
		s.notice(h)
	}
}

// sendState makes the headset report the state of a channel. arriving says that it has just come into reach, which is no press.
func (d *desk) sendState(h *headset, i int, arriving bool) {
	t := h.Channels[i]
	v := h.state(t.Of)
	h.stuck[i] = false
	if arriving && !t.Form.isState() {
		return
	}
	switch t.Form {
	case formSwitch:
		d.send(h, i, t.usage(map[bool]byte{true: 1, false: 0}[v]), true)
	case formButtons:
		d.send(h, i, t.usage(map[bool]byte{true: 1, false: 3}[v]), true) // -1 in two bits
	case formPress:
		d.send(h, i, t.usage(1), false)
		if t.BothWays {
			d.after(30*time.Millisecond, func() { d.send(h, i, t.usage(0), false) })
		}
	case formEvent:
		d.send(h, i, t.report(t.On), false)
	case formHeld:
		d.send(h, i, t.report(t.On), false)
		d.after(30*time.Millisecond, func() { d.send(h, i, t.report(t.Off), false) })
	case formLevel:
		if arriving && t.Busy != 0 {
			d.send(h, i, t.report(t.Busy), false)
			if h.stuck[i] = t.Stuck; t.Stuck {
				return
			}
			d.after(200*time.Millisecond, func() {
				if h.reachable() {
					d.send(h, i, t.report(t.code(h.state(t.Of))), true)
				}
			})
			return
		}
		d.send(h, i, t.report(t.code(v)), true)
	case formFeature, formAnswer:
		if t.Hint != 0 {
			d.send(h, i, []byte{t.Hint, 1, 0, 0}, false)
		}
	case formHIDPP:
		data := make([]byte, 1+hidppBytes)
		copy(data, []byte{hidppReport, 0xff, hidppPlace(i), 0, t.code(v)})
		if t.Hint != 0 {
			d.send(h, i, []byte{t.Hint, 1, 0, 0}, false)
		}
		d.send(h, i, data, true)
	}
}

// hidppPlace returns the index of the HID++ feature of a channel.
func hidppPlace(channel int) byte { return byte(8 + channel) }

// hidppFeature returns the id of a channel's HID++ feature.
func (t channel) hidppFeature() uint16 {
	if t.Of == ofNoise {
		return 0x0602
	}
	return 0x0601
}

// send sends an input report, if somebody reads it. isState says that it shows a state.
func (d *desk) send(h *headset, channel int, data []byte, isState bool) {
	t := h.Channels[channel]
	iface := t.Interface
	then := func(n *node) {
		if isState {
			h.reportedAt[channel] = n.since
		} else if t.Form == formLevel {
			delete(h.reportedAt, channel)
		}
	}
	if waits := time.Now().Before(d.stalledUntil); t.Twin && (t.Form.isState() || !waits) {
		iface = int(d.delay(2, "twin", h.index, channel))
	}
	if t.Both {
		d.sendOn(h, 1-iface, data, then)
	}
	d.sendOn(h, iface, data, then)
}

func (d *desk) sendOn(h *headset, iface int, data []byte, then func(*node)) {
	n := h.node(iface)
	if d.asleep || n == nil || !n.open {
		return
	}
	d.deliver(n, hid.Event{Kind: hid.Report, Node: n.device.Node, Data: data}, func() { then(n) })
}

// request delivers a request of the agent to its device.
func (d *desk) request(r request) {
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			if n.device.Node == r.Node && !n.gone {
				d.after(h.rouse()+d.delay(10*time.Millisecond, r.ID), func() { d.handleRequest(h, n, r) })
				return
			}
		}
	}
}

// handleRequest answers a request as the device does.
func (d *desk) handleRequest(h *headset, n *node, r request) {
	if n.gone || !n.open || d.asleep {
		return
	}
	if len(r.Output) > 5 && r.Output[0] == hidppReport {
		d.answerHIDPP(h, n, r.Output)
		return
	}
	answered := false
	for i, t := range h.Channels {
		if t.Interface != n.iface && !t.Twin || t.Of != ofLink && !h.up() {
			continue
		}
		code := t.code(h.state(t.Of))
		if h.stuck[i] {
			code = t.Busy
		}
		switch {
		case t.Form == formFeature && len(r.Feature) > 0 && r.Feature[0] == t.Ask:
			answered = true
			data := t.reportOf(t.Ask, code)
			if t.Busy != 0 && time.Since(h.turned) < 60*time.Millisecond {
				data = t.reportOf(t.Ask, t.Off)
				data[reportBytes] = t.Busy
			}
			d.answer(n, r, data)
		case t.Form == formLevel && len(r.Input) > 0 && r.Input[0] == t.Report,
			t.Form == formLamp && len(r.LastOutput) > 0 && r.LastOutput[0] == t.Ask:
			answered = true
			d.answer(n, r, t.reportOf(cmp.Or(t.Ask, t.Report), code))
		case t.Form == formAnswer && len(r.Output) > 1 && r.Output[0] == t.Ask && (t.Property == 0 || r.Output[1] == t.Property):
			d.answerByReport(h, n, reportedAnswer{i, t.report(t.code(h.state(t.Of))), true})
		}
	}
	if len(r.Output) == 0 && !answered {
		d.after(time.Millisecond, func() { d.deliverAnswer(n, r, hid.Event{Request: r.ID, Error: "the device does not answer"}) })
	}
}

// reportedAnswer is an input report of a channel that answers a question.
type reportedAnswer struct {
	channel int
	data    []byte
	states  bool // as opposed to a HID++ answer about places
}

// answerByReport sends an answer, or the one to the question before.
func (d *desk) answerByReport(h *headset, n *node, a reportedAnswer) {
	if !h.AnswersLate {
		d.send(h, a.channel, a.data, a.states)
		return
	}
	if last := n.unsent; last != nil {
		d.send(h, last.channel, last.data, false)
	}
	n.unsent = &a
}

// answerHIDPP answers a HID++ request. An interface that speaks HID++ answers every question for the index of a feature, with 0 if it does
// not have it.
func (d *desk) answerHIDPP(h *headset, n *node, request []byte) {
	data := make([]byte, 1+hidppBytes)
	copy(data, request[:4])
	feature, by := uint16(request[4])<<8|uint16(request[5]), -1
	for i, t := range h.Channels {
		switch {
		case t.Form != formHIDPP || t.Interface != n.iface || !h.up():
		case request[2] == hidppPlace(i):
			data[4] = t.code(h.state(t.Of))
			d.answerByReport(h, n, reportedAnswer{i, data, true})
		case request[2] == 0:
			by = i
			if feature == t.hidppFeature() {
				data[4] = hidppPlace(i)
			}
		}
	}
	if by >= 0 {
		d.answerByReport(h, n, reportedAnswer{by, data, false})
	}
}

// drowsyAfter is the silence after which a drowsy headset sleeps.
const drowsyAfter = 5 * time.Second

// rouse returns how long the headset takes until it handles a request that comes now. One that sleeps wakes late, and handles what has
// come meanwhile in order.
func (h *headset) rouse() time.Duration {
	now := time.Now()
	switch {
	case h.Drowsy == 0:
		return 0
	case now.Sub(h.idleAfter) > drowsyAfter:
		h.idleAfter = now.Add(time.Duration(h.Drowsy) * time.Millisecond)
	case h.idleAfter.After(now):
		h.idleAfter = h.idleAfter.Add(10 * time.Millisecond)
	default:
		h.idleAfter = now
	}
	return h.idleAfter.Sub(now)
}

// answer delivers a report that was asked for. Input reports may overtake it.
func (d *desk) answer(n *node, r request, data []byte) {
	d.after(max(d.delay(10*time.Millisecond, "answer", r.ID), time.Until(d.stalledUntil)), func() {
		d.deliverAnswer(n, r, hid.Event{Request: r.ID, Data: data})
	})
}

func (d *desk) deliverAnswer(n *node, r request, e hid.Event) {
	if n.gone || !n.open || d.asleep {
		return
	}
	e.Kind, e.Node, e.At = hid.Answer, n.device.Node, time.Now()
	d.note(ofDesk, "hid %s", asJSON{e})
	r.by.HID(e)
}
