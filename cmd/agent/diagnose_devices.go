package main

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
)

// unknownDevice is the reason of the resolver to withhold what no link of the catalogue matches.
const unknownDevice = "the catalogue names no such device"

func (d *diagnosis) devices() {
	if d.Status == nil && d.Catalogue == nil {
		return // nothing could be recognised
	}
	plugged := control.ProductsOf(d.Devices.Reported)
	for _, p := range plugged {
		var types []string
		for _, dev := range p.Devices {
			types = append(types, fmt.Sprintf("%s %q", dev.Type, dev.ID))
		}
		who := p.Name
		if words := unitWords(p, plugged, d.Devices); len(words) > 0 {
			who += " (" + strings.Join(words, ", ") + ")"
		}
		d.add(stepDevices, fine, "", "%s is plugged in, as %s", who, strings.Join(types, ", "))
	}
	if d.withheld(len(plugged) > 0) || len(plugged) > 0 {
		return
	}
	how, remedy := wrong, "Plug one in; if one is, see what 'sidetone devices' and the system's sound settings show, and try another cable or socket"
	for _, s := range d.Sources {
		switch engine.Condition(s.Condition) {
		case engine.Working:
		case engine.Starting:
			how, remedy = doubtful, "Run this again in some seconds, when all sources have answered"
		default:
			how, remedy = doubtful, "Look at the source that does not work first: what it would list is unknown"
		}
	}
	d.add(stepDevices, how, remedy, "No product of the catalogue is plugged in, as far as can be seen")
}

// withheld tells of the vendor's devices that are not reported, and whether there are any.
func (d *diagnosis) withheld(reported bool) bool {
	how, milder := wrong, doubtful
	if reported {
		how, milder = doubtful, hint
	}
	some := false
	told := make(map[string]bool) // ids of devices that have several endpoints
	for _, h := range d.Devices.Withheld {
		e := d.endpoints[h.Key]
		vendors := d.vendors(e.VID)
		switch id := e.VID + ":" + e.PID; {
		case h.Reason != unknownDevice && (vendors || !e.Virtual):
			d.add(stepDevices, milder, d.withheldRemedy(h), "%s %q is not reported: %s", h.Type, h.Name, h.Reason)
		case !vendors || e.Virtual || told[id]:
			continue
		default:
			told[id] = true
			d.add(stepDevices, how, fmt.Sprintf("If it is a product of yours, add the id %q to the pids of its link in %s; if it is there, look at the link's kind, os and name_regex%s", e.PID, orElse(d.CataloguePath, "the catalogue"), d.reload()),
				"%q (USB id %s) is of this vendor, but no product of the catalogue matches it", h.Name, id)
		}
		some = true
	}
	return some
}

func (d *diagnosis) withheldRemedy(h devices.Withheld) string {
	if d.endpoints[h.Key].Plugged == devices.False {
		return "Push the plug all the way into the jack"
	}
	return fmt.Sprintf("If it should be reported, change endpoints, virtual_endpoints or id_scheme of its product in %s; 'sidetone devices' shows its facts", orElse(d.CataloguePath, "the catalogue"))
}

// vendors reports whether a USB vendor id is one of the catalogue's.
func (d *diagnosis) vendors(vid string) bool {
	return vid != "" && d.Catalogue != nil && slices.ContainsFunc(d.Catalogue.Products, func(p catalogue.Product) bool {
		return slices.ContainsFunc(p.Links, func(l catalogue.Link) bool { return strings.EqualFold(l.VID, vid) })
	})
}

// maxID is where the client may cut a name, in bytes (rule R61).
const maxID = 127

// ids looks for devices that the client may not know by the id that it is sent.
func (d *diagnosis) ids() {
	for _, r := range d.Devices.Reported {
		name := d.endpoint(r).Name
		if n := len(r.Endpoints); n > 1 {
			d.add(stepDevices, doubtful, "Unplug all but one, or give each a name of its own in the system's sound settings; the client then shows a mute of each",
				"%d devices of type %s go by the one id %q and are one to the client, which shows a mute only if all are muted", n, r.Type, r.ID)
		}
		if !strings.HasPrefix(name, r.ID) {
			continue // its id is not its name
		}
		if len(name) > maxID || len(r.ID) < len(name) {
			d.add(stepDevices, doubtful, "Give it a shorter name in the system's sound settings, if the client shows nothing for it",
				"The name of %q has %d bytes, of which %d are sent; the client may cut it at another place", r.ID, len(name), len(r.ID))
		}
		if strings.HasPrefix(strings.ToLower(r.ID), "default") {
			d.add(stepDevices, doubtful, "Rename it in the system's sound settings, so that its name begins with another word",
				"The name of %q begins with \"default\", and the client may take it for its entry \"Default\" and show nothing for it", r.ID)
		}
	}
}

func (d *diagnosis) microphones() []devices.Report {
	var list []devices.Report
	for _, r := range d.Devices.Reported {
		if r.Type == devices.AudioInput {
			list = append(list, r)
		}
	}
	return list
}

// endpoint is the first one behind a report.
func (d *diagnosis) endpoint(r devices.Report) control.Endpoint {
	if len(r.Endpoints) == 0 {
		return control.Endpoint{}
	}
	return d.endpoints[r.Endpoints[0]]
}

// mute says whether anybody knows the hardware mute of a microphone.
func (d *diagnosis) mute(r devices.Report) {
	flag, may := r.Flags[devices.HardwareMute]
	e := d.endpoint(r)
	all := e.Considered[devices.HardwareMute]
	switch {
	case !may:
		d.add(stepFlags, wrong, "Add hardware_mute to report.fields in the settings"+d.reload(), "The mute of %q is not sent: the setting report.fields leaves it out", r.ID)
	case !flag.Value.Known() && len(all) == 0:
		d.add(stepFlags, doubtful, fmt.Sprintf("If it has a mute button, name a source of hardware_mute for %s in the catalogue, or have the vendor's software push it ('sidetone push %s hardware_mute=true')", r.Product, r.Product),
			"The client is never told of a mute of %q: the catalogue names no source for it, and nobody pushes it", r.ID)
	case !flag.Value.Known():
		reason, remedy := d.whyUnknown(all, r, e)
		d.add(stepFlags, wrong, remedy, "Nobody knows whether %q is muted, so the client is not told: %s", r.ID, reason)
	case flag.Origin.Stale:
		d.add(stepFlags, doubtful, "See why the source fails, above; until it works again a press of the button is not noticed",
			"That %q is %s is the last word of a source that fails now (%s)", r.ID, mutedWords(flag), flag.Origin)
	default:
		d.add(stepFlags, fine, "Press the button and run this again: if this line stays the same, that source does not see the button; see 'sidetone explain'",
			"The microphone %q is %s, says %s", r.ID, mutedWords(flag), flag.Origin)
	}
	if hw := d.origin(flag, e); flag.Origin.Via == devices.ViaOSEndpointMute && !hw.MuteInHardware {
		d.add(stepFlags, hint, fmt.Sprintf("Nothing to do if the button of %s is known to set it; else take out 'require_hardware_support: false'", r.Model.Name),
			"The mute of %q is the one that the system does in software, as the catalogue allows; it says that the button moves it", r.ID)
	}
}

// origin is the endpoint whose fact the flag is: e, or the one whose sound e carries.
func (d *diagnosis) origin(f devices.Flag, e control.Endpoint) control.Endpoint {
	for _, other := range d.Devices.Endpoints {
		if other.Type == devices.AudioInput && other.ID == f.Origin.Detail {
			return other
		}
	}
	return e
}

// mutedWords are the value of a known mute; a mute that button and OS share is the hardware's and the OS's.
func mutedWords(flag devices.Flag) string {
	words := "muted"
	if flag.Value == devices.False {
		words = "not muted"
	}
	if !flag.Origin.Shared {
		words += " on the hardware"
	}
	return words
}

// whyUnknown says of each source of the mute why it does not know, and what to do about the best.
func (d *diagnosis) whyUnknown(all []devices.Considered, r devices.Report, e control.Endpoint) (reason, remedy string) {
	var reasons []string
	for _, c := range all {
		_, why, do := d.why(r.Product, e, devices.HardwareMute, c.Rule)
		reasons = append(reasons, c.Rule+": "+orElse(why, "it does not know"))
		if remedy == "" {
			remedy = do
		}
	}
	return strings.Join(reasons, "; "), orElse(remedy, fmt.Sprintf("See 'sidetone explain %s' and the sources of %s in the catalogue", e.ID, r.Product))
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}

// otherFlags names those that have sources of which none knows.
func (d *diagnosis) otherFlags(r devices.Report) {
	e := d.endpoint(r)
	var unknown []string
	for _, f := range devices.Fields {
		flag, may := r.Flags[f]
		if f == devices.HardwareMute || !may || flag.Value.Known() || len(e.Considered[f]) == 0 {
			continue
		}
		var rules []string
		for _, c := range e.Considered[f] {
			rules = append(rules, c.Rule)
		}
		unknown = append(unknown, fmt.Sprintf("%s (%s of %s)", f, strings.Join(rules, ", "), r.Product))
	}
	if len(unknown) > 0 {
		d.add(stepFlags, hint, fmt.Sprintf("Nothing to do if the device has no such processing on this endpoint; else see 'sidetone explain %s', or push it from the vendor's software", e.ID),
			"Of %q this is not sent, because the sources that the catalogue names do not know it: %s", r.ID, strings.Join(unknown, ", "))
	}
}
