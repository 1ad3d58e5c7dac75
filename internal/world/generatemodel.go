package world

import (
	"fmt"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

type object = map[string]any

// model draws a headset, and the catalogue entries of a vendor who knows it but is sloppy at times. Entries
// that the product's check refuses are drawn again.
func (g *generator) model() model {
	m := model{Bus: pick(g, usb, usb, dongle, dongle, bluetooth), Keeps: g.one(3), NamedIDs: g.one(3), LED: g.one(2)}
	if m.Bus == dongle {
		m.ResetsUp = !m.Keeps && g.one(6)
	}
	if m.Bus == usb && g.one(6) {
		m.Split = true
	} else if m.Bus == usb && g.one(6) {
		m.NoContainer = true
	}
	m.Filtered = g.one(6)
	m.OSMute, m.Flagged = pick(g, osNone, osSoft, osSoft), g.one(2)
	b := &builder{generator: g, m: &m, report: 1}
	if g.one(2) {
		m.Noise = append(m.Noise, int(b.next()))
	}
	b.channels()
	for range 1 + g.IntN(2) {
		m.Versions = append(m.Versions, b.accepted())
	}
	return m
}

// builder draws the parts of one model.
type builder struct {
	*generator
	m      *model
	report uint8
}

func (b *builder) next() uint8 {
	b.report++
	return b.report - 1
}

func (b *builder) addChannel(of subject, f form) {
	t := channel{Of: of, Form: f, Interface: b.IntN(2), Byte: 1 + b.IntN(2), On: 1, AtLink: b.one(2)}
	if b.one(3) {
		t.On, t.Off = pick[uint8](b.generator, 2, 0xb1, 0x80), pick[uint8](b.generator, 0, 1, 0x31)
	}
	switch f {
	case formFeature:
		t.Ask, t.Hint = 0x20+b.next(), b.next()
		if b.one(3) {
			t.Busy = 1
		}
	case formLamp:
		t.Ask, t.On, t.Off = 0x60+b.next(), 1, 0
	case formAnswer:
		t.Ask, t.Report, t.Hint = 0x40+b.next(), b.next(), b.next()
	case formHIDPP:
		t.Byte = 0
		if b.one(2) {
			t.Hint = b.next()
		}
	case formLevel:
		t.Report = b.next()
		if b.one(3) {
			t.Busy, t.Stuck = 0x10, b.one(2)
		}
	case formALSA:
	case formPress, formSwitch, formButtons:
		t.Report, t.BothWays = b.next(), b.one(2)
	default:
		t.Report = b.next()
	}
	t.Twin = of != ofLink && t.Report != 0 && (f == formLevel || f == formSwitch) && b.one(6)
	b.m.Channels = append(b.m.Channels, t)
}

func (b *builder) channels() {
	m := b.m
	first := pick(b.generator, formSwitch, formPress, formPress, formButtons, formHeld, formEvent, formEvent, formLevel, formLevel, formLevel,
		formFeature, formAnswer, formHIDPP, formALSA, formALSA, formLamp, "")
	if first == formLamp && m.Bus != usb {
		first = formLevel
	}
	of := ofMute
	switch {
	case first == formPress || first == formHeld || first == formEvent:
		of = ofButton
		m.Boom = b.one(5)
	case first == formLevel && b.one(5):
		of, m.Boom = ofButton, true
	}
	if first != "" {
		b.addChannel(of, first)
	} else if b.one(2) {
		m.OSMute = osShared
	}
	if m.Boom {
		b.addChannel(ofBoom, formLevel)
	}
	if of == ofButton && !m.Boom && (m.Keeps || b.one(3)) || of == ofMute && b.one(3) {
		b.addChannel(ofMute, pick(b.generator, formFeature, formAnswer, formLevel))
	}
	if m.Bus == dongle {
		b.addChannel(ofLink, pick(b.generator, formLevel, formLevel, formLevel, formAnswer))
		link := &m.Channels[len(m.Channels)-1]
		link.Busy, link.Stuck = 0, false
	}
	if len(m.Noise) == 0 && len(m.Channels) == 1 && (m.Channels[0].Form == formLevel || m.Channels[0].Form == formEvent) && b.one(2) {
		m.Channels[0].Report, m.Channels[0].Byte, m.Channels[0].Interface = 0, b.IntN(2), 0
	}
}

// accepted draws an entry that the check accepts.
func (b *builder) accepted() entry {
	for range 30 {
		w := b.entry()
		b.m.Versions = append(b.m.Versions, w)
		_, err := vendorCatalogue([]model{*b.m}, len(b.m.Versions)-1)
		b.m.Versions = b.m.Versions[:len(b.m.Versions)-1]
		if err == nil {
			return w
		}
	}
	return entry{}
}

func (b *builder) entry() entry {
	var w entry
	channels := make(map[subject][]int)
	for i, t := range b.m.Channels {
		channels[t.Of] = append(channels[t.Of], i)
	}
	for _, i := range channels[ofLink] {
		w.Link = append(w.Link, rule{[]int{i}, b.rule(i)})
	}
	button, boom, whole := channels[ofButton], channels[ofBoom], channels[ofMute]
	add := func(r rule) {
		r.Says["field"] = devices.HardwareMute
		w.Sources = append(w.Sources, r)
	}
	switch {
	case b.m.Boom && len(button) > 0:
		add(rule{[]int{button[0], boom[0]}, object{"derive": object{"or": []any{b.rule(button[0]), b.rule(boom[0])}}}})
	case len(button) > 0:
		anchors := []int{button[0]}
		says := b.toggle(button[0], whole, &anchors)
		add(rule{anchors, says})
	}
	b.Shuffle(len(whole), func(i, j int) { whole[i], whole[j] = whole[j], whole[i] })
	for _, i := range whole {
		if !b.one(5) {
			add(rule{[]int{i}, b.rule(i)})
		}
		if t := b.m.Channels[i]; t.Form == formLevel && t.Report != 0 && b.one(4) {
			add(rule{[]int{i}, object{"hid_query": object{"input": bytesText(t.Report), "value": b.value(t, t.Byte)}}})
		}
	}
	switch {
	case b.m.OSMute == osShared:
		says := object{"shared_with_button": true}
		if !b.m.Flagged {
			says["require_hardware_support"] = false
		}
		add(rule{nil, object{"os_endpoint_mute": says}})
	case b.m.OSMute == osSoft && b.one(4):
		add(rule{nil, object{"os_endpoint_mute": object{}}}) // counts only if the OS says that its mute is a switch in the device
	}
	if b.one(4) {
		w.Sources = append(w.Sources, rule{nil, object{"field": devices.NoiseSuppression, "const": true}})
	}
	return w
}

// rule draws what the catalogue says of a channel.
func (b *builder) rule(i int) object {
	t := b.m.Channels[i]
	out := object{}
	if b.one(2) && b.m.Bus != bluetooth && !t.Twin {
		out["interface"] = t.Interface
	}
	switch t.Form {
	case formSwitch, formButtons:
		if b.one(2) {
			out["kind"] = map[form]catalogue.HIDKind{formSwitch: catalogue.HIDLevel, formButtons: catalogue.HIDButtons}[t.Form]
		}
		return object{"hid_usage": out}
	case formPress, formHeld, formEvent:
		return b.toggle(i, nil, nil)
	case formLevel:
		b.numbered(t, out)
		out["value"] = b.value(t, t.Byte)
		if t.Of != ofLink && b.one(4) {
			out["debounce_ms"] = 50
		}
		return object{"hid_report": out}
	case formFeature, formAnswer:
		return object{"hid_query": b.query(t, out, true)}
	case formLamp:
		out["last_output"], out["poll_ms"], out["value"] = bytesText(t.Ask), 1000+500*b.IntN(3), b.value(t, t.Byte)
		return object{"hid_query": out}
	case formHIDPP:
		if t.Hint != 0 {
			out["ask_on"] = []any{object{"byte": 0, "eq": t.Hint}}
		}
		out["feature"], out["event"], out["read"], out["value"] = fmt.Sprintf("%04x", t.hidppFeature()), 0, 1, b.value(t, 0)
		return object{"hidpp": out}
	case formALSA:
		return object{"alsa_ctl": object{"name": alsaControl, "invert": true, "shared_with_button": true}}
	}
	return out
}

func (b *builder) query(t channel, out object, hint bool) object {
	out["value"] = b.value(t, t.Byte)
	if hint {
		out["ask_on"] = []any{object{"byte": 0, "eq": t.Hint}}
	}
	if t.Form == formFeature {
		out["feature"] = bytesText(t.Ask)
		if t.Busy != 0 {
			out["delay_ms"], out["retry_on"] = 30, []any{object{"byte": reportBytes, "eq": t.Busy}}
		}
	} else {
		out["output"], out["expect"] = []string{bytesText(t.Ask, max(t.Property, 1))}, []any{object{"byte": 0, "eq": t.Report}}
		if t.Property != 0 && !b.one(3) {
			out["expect"] = []any{object{"byte": 0, "eq": t.Report}, object{"byte": 1, "eq": t.Property}}
		}
	}
	return out
}

func bytesText(b ...byte) string { t, _ := hid.Bytes(b).MarshalText(); return string(t) }

// numbered adds the number of the report, which a sloppy vendor forgets.
func (b *builder) numbered(t channel, out object) {
	switch {
	case t.Report == 0, t.Of != ofLink && b.one(4):
	case b.one(5):
		out["when"] = []any{object{"byte": 0, "eq": t.Report}}
	default:
		out["report_id"] = t.Report
	}
}

// value draws which byte holds a state, and what its values mean.
func (b *builder) value(t channel, at int) object {
	out := object{"byte": at}
	n := b.IntN(4)
	if n == 0 && t.Off != 0 || n == 3 && !b.one(4) {
		n = 1
	}
	if n == 1 || n == 2 {
		out["on"], out["off"] = []int{int(t.On)}, []int{int(t.Off)}
	}
	if n == 3 {
		if b.one(2) {
			out["on"] = []int{int(t.On)}
		} else {
			out["off"] = []int{int(t.Off)}
		}
	}
	return out
}

// toggle draws a toggle by presses, with anchors that show its state.
func (b *builder) toggle(i int, whole []int, reads *[]int) object {
	t := b.m.Channels[i]
	anchor := object{}
	if !b.m.Keeps && !b.one(3) {
		anchor["start"] = false
	}
	if b.m.ResetsUp && !b.one(3) {
		anchor["link_up"] = false
	}
	for _, w := range whole {
		other := b.m.Channels[w]
		switch {
		case b.one(3):
			continue
		case other.Form == formLevel:
			report := object{"value": b.value(other, other.Byte)}
			b.numbered(other, report)
			anchor["hid_report"] = report
		case other.Form == formFeature, other.Form == formAnswer:
			anchor["hid_query"] = b.query(other, object{}, false)
		default:
			continue
		}
		*reads = append(*reads, w)
	}
	out := object{}
	if len(anchor) > 0 {
		out["anchor"] = anchor
	}
	if b.one(2) && b.m.Bus != bluetooth {
		out["interface"] = t.Interface
	}
	if b.one(3) {
		out["debounce_ms"] = 40
	}
	switch t.Form {
	case formPress:
		if len(anchor) > 0 && b.one(2) {
			out["kind"] = catalogue.HIDToggle
		}
		return object{"hid_usage": out}
	case formHeld:
		out["kind"], out["value"] = catalogue.HIDToggle, object{"byte": t.Byte, "on": []int{int(t.On)}, "off": []int{int(t.Off)}}
	default:
		out["kind"] = catalogue.HIDToggle
		out["when"] = []any{object{"byte": t.Byte, "eq": t.On}}
	}
	if t.Report != 0 {
		out["report_id"] = t.Report
	}
	return object{"hid_report": out}
}
