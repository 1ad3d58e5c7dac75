package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
)

// atRest checks the list after nothing has happened for longer than any grace period.
func (d *desk) atRest() {
	list := d.published()
	in, r := d.engine.Inputs()
	fresh := r.Resolve(in)
	if d.isPaused() {
		fresh = fresh.Paused("")
	}
	if !devices.SameWire(fresh.Wire(), list.Wire()) {
		d.violate("resolved", "the list is %s, and what is known says %s", text(list.Wire()), text(fresh.Wire()))
	}
	for _, rep := range list.Devices {
		if rep.Type != devices.AudioInput {
			continue
		}
		for _, key := range rep.Endpoints {
			d.checkReport(rep, key)
		}
	}
}

// checkReport checks what the list says of the headset with an endpoint.
func (d *desk) checkReport(rep devices.Report, key devices.Key) {
	h := d.owner(key.ID)
	flag := rep.Flags[devices.HardwareMute]
	if h != nil && h.reachable() && !d.unreadable(h) && !h.isRerouted(key) {
		d.checkNoise(rep, h)
	}
	switch {
	case h != nil && h.isRerouted(key):
		if flag.Value.Known() {
			d.violate("route", "%s does not record headset %d, and has its mute: %v by %v", key.ID, h.index, flag.Value, flag.Origin)
		}
	case h == nil, d.serverDown:
		d.violate("ghost", "%s is reported and not there", key.ID)
	case !h.reachable(), d.unreadable(h):
	case flag.Value == devices.True && d.hasStranger(rep, h):
		d.violate("true", "headset %d is reported as muted since %v by %v, under an id that another microphone has", h.index,
			flag.Since.Sub(d.began), flag.Origin)
	case flag.Value == devices.True && !h.mutes(key.ID) && !d.excused(rep, h, key.ID):
		d.violate("true", "headset %d is not muted, and reported as muted since %v by %v", h.index, flag.Since.Sub(d.began), flag.Origin)
	case flag.Value == devices.False && d.allMuted(rep) && !d.saidUnmuted(rep):
		d.violate("false", "headset %d is muted, and reported as not muted since %v by %v", h.index, flag.Since.Sub(d.began), flag.Origin)
	case flag.Value == devices.Unknown && len(rep.Endpoints)+len(rep.Namesakes) == 1 && !h.opens(key.ID):
		if why := d.whyKnown(h, key.ID); why != "" {
			d.violate("known", "the mute of headset %d is reported as unknown, but %s", h.index, why)
		}
	}
}

// isRerouted reports whether an endpoint is an echo canceller that does not record the headset, as far as anybody knows.
func (h *headset) isRerouted(key devices.Key) bool { return key.ID == "echo."+h.id && h.route != 0 }

// checkNoise checks what is said of a headset's noise suppression. Some catalogues say that it is always on.
func (d *desk) checkNoise(rep devices.Report, h *headset) {
	flag := rep.Flags[devices.NoiseSuppression]
	alone := len(rep.Endpoints)+len(rep.Namesakes) == 1
	if flag.Origin.Via != devices.ViaConst && alone && flag.Value.Known() && flag.Value != devices.Of(h.noise) {
		d.violate("noise", "the noise suppression of headset %d is %v, and reported as %v since %v by %v", h.index, h.noise, flag.Value,
			flag.Since.Sub(d.began), flag.Origin)
	}
}

// hasStranger reports whether a microphone of another vendor has the id under which the headset is reported.
func (d *desk) hasStranger(rep devices.Report, h *headset) bool {
	for i, there := range d.seen {
		if there && rep.ID == h.name(h.Model) && d.Strangers[i].Model == h.Model {
			return true
		}
	}
	return false
}

// allMuted reports whether all headsets behind a report are muted.
func (d *desk) allMuted(rep devices.Report) bool {
	return !slices.ContainsFunc(slices.Concat(rep.Endpoints, rep.Namesakes), func(k devices.Key) bool {
		h := d.owner(k.ID)
		return h == nil || !h.reachable() || d.unreadable(h) || !h.mutes(k.ID)
	})
}

// excused reports whether an input of a headset may be reported as muted because software has said so.
func (d *desk) excused(rep devices.Report, h *headset, id string) bool {
	return pushed(rep) && d.stillSays(h, devices.True) && h.entry(d.version).hasMute(id)
}

// saidUnmuted reports whether software has said of one of the headsets behind a report that it is not muted.
func (d *desk) saidUnmuted(rep devices.Report) bool {
	return pushed(rep) && slices.ContainsFunc(rep.Endpoints, func(k devices.Key) bool { return d.stillSays(d.owner(k.ID), devices.False) })
}

// pushed reports whether software may have said what is reported. The report of several headsets that the client cannot tell apart
// has the origin of one of them.
func pushed(rep devices.Report) bool {
	return rep.Flags[devices.HardwareMute].Origin.Via == devices.ViaPush || len(rep.Endpoints) > 1
}

// unreadable reports whether the agent cannot read an interface on which the headset reports its link, or one of the two of a
// channel.
func (d *desk) unreadable(h *headset) bool {
	w := h.entry(d.version)
	return slices.ContainsFunc(slices.Concat(w.Link, w.Sources), func(r rule) bool {
		return slices.ContainsFunc(r.Reads, func(i int) bool {
			t := h.Channels[i]
			return (t.Of == ofLink || t.Twin) && !h.reads(t)
		})
	})
}

// owner returns the headset with an endpoint in the OS; nil: none.
func (d *desk) owner(id string) *headset {
	part, name, _ := strings.Cut(id, ".")
	for _, h := range d.headsets {
		if h.plugged && h.sound && h.id == name && (part != "echo" || h.Filtered) {
			return h
		}
	}
	return nil
}

// whyKnown returns why the mute of an input of a headset has to be known; "": it need not be.
func (d *desk) whyKnown(h *headset, id string) string {
	w := h.entry(d.version)
	if w.hasMute(id) {
		if why := d.whyHeld(h); why != "" {
			return why
		}
	}
	told := make(map[int]bool) // channels that earlier rules read
	for _, r := range w.Sources {
		if !r.mutes() || r.Says["derive"] != nil || !r.isAbout(id) {
			continue
		}
		if query, ok := r.Says["hid_query"].(map[string]any); ok && query["input"] != nil && !told[r.Reads[0]] {
			continue // no rule reads the level that shows when it changes
		}
		for _, i := range r.Reads {
			told[i] = !unclear(r.Says, h.Channels[i])
			if why := d.howKnown(h, i, r, len(w.Link) > 0); why != "" {
				return why
			}
		}
	}
	return ""
}

// howKnown returns how the agent knows the state of a channel by a rule; "": it need not know it.
func (d *desk) howKnown(h *headset, i int, r rule, linked bool) string {
	t, first := h.Channels[i], h.Channels[r.Reads[0]]
	switch {
	case t.Form == formALSA && !d.serverDown:
		return "a mixer switch shows it"
	case d.mayMissAnswers(h, t, linked), t.Of != ofMute, t.Form == formALSA, h.stuck[i], !h.reads(t), !h.reads(first), unclear(r.Says, t):
		return ""
	case t.Form == formHIDPP && !linked && t.Hint == 0: // the agent does not know when to ask again after it was off
		return ""
	case t.Form.isAsked(), r.Says["hid_query"] != nil:
		if h.Drowsy > 0 || h.AnswersLate {
			return ""
		}
		return "the device answers " + text(r.Says)
	// As an anchor it may be overtaken by presses on another interface.
	case t.Form.isState() && (first.Form.isState() || first.Interface == t.Interface && !t.Twin && !first.Twin):
		if at, told := h.reportedAt[i]; told && at.After(h.validSince) {
			return fmt.Sprintf("it was told at %v by %s", at.Sub(d.began).Round(time.Millisecond), text(r.Says))
		}
	}
	return ""
}

// mayMissAnswers reports whether answers about a channel, or about the link that it depends on, may come too late.
func (d *desk) mayMissAnswers(h *headset, t channel, linked bool) bool {
	return d.stalledUntil.After(h.validSince) && t.Form.isAsked() || linked && h.hidesDropouts()
}

// hidesDropouts reports whether the answer about the link may come when a dropout is over.
func (h *headset) hidesDropouts() bool {
	return (h.Drowsy > 0 || h.AnswersLate) &&
		slices.ContainsFunc(h.Channels, func(t channel) bool { return t.Of == ofLink && t.Form == formAnswer })
}

// unclear reports whether the catalogue does not say what the values of the channel mean, or in which report they are.
func unclear(says any, t channel) bool {
	switch says := says.(type) {
	case map[string]any:
		if report, ok := says["hid_report"].(map[string]any); ok && t.Report != 0 && report["report_id"] == nil && report["when"] == nil {
			return true
		}
		if value, ok := says["value"].(map[string]any); ok && says["kind"] != string(catalogue.HIDToggle) {
			on, off := value["on"] != nil, value["off"] != nil
			if on != off || !on && (t.On != 1 || t.Off != 0) {
				return true
			}
		}
		for _, v := range says {
			if unclear(v, t) {
				return true
			}
		}
	}
	return false
}

// reads reports whether the agent reads all interfaces of a channel.
func (h *headset) reads(t channel) bool {
	ok := func(iface int) bool { n := h.node(iface); return n != nil && n.open }
	return ok(t.Interface) && (!t.Twin || ok(1-t.Interface))
}

// tooLong is how long a mute that has ended may still be reported.
const tooLong = 5 * time.Second

// checkInMotion checks at any time that no mute is reported long after it has ended.
func (d *desk) checkInMotion() {
	for _, h := range d.headsets {
		via, wrong := d.falselyMuted(h)
		old := d.serverDown && (via == devices.ViaOSEndpointMute || via == devices.ViaALSACtl) || d.unheardSleeps > 0
		switch {
		case !wrong || old:
			h.wrongSince = time.Time{}
		case h.wrongSince.IsZero():
			h.wrongSince = time.Now()
		case time.Since(h.wrongSince) > tooLong:
			d.violate("true in motion", "headset %d is not muted, and reported as muted for %v by %s", h.index, time.Since(h.wrongSince), via)
			h.wrongSince = time.Time{}
		}
	}
}

// falselyMuted reports whether a headset is wrongly reported as muted, and by which source.
func (d *desk) falselyMuted(h *headset) (via string, wrong bool) {
	if !h.reachable() || d.unreadable(h) {
		return "", false
	}
	for _, rep := range d.published().Devices {
		flag := rep.Flags[devices.HardwareMute]
		at := slices.IndexFunc(rep.Endpoints, func(k devices.Key) bool { return d.owner(k.ID) == h })
		if at >= 0 && flag.Value == devices.True {
			id := rep.Endpoints[at].ID
			via = flag.Origin.Via
			if len(rep.Endpoints) > 1 && h.mutesInOS() { // the origin may be another one's
				via = devices.ViaALSACtl
			}
			return via, d.hasStranger(rep, h) || !h.mutes(id) && !d.excused(rep, h, id)
		}
	}
	return "", false
}
