package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

func (d *examination) devices() {
	if d.Status == nil && d.Catalogue == nil {
		return // nothing could be recognised
	}
	plugged := control.ProductsOf(d.Devices.Reported)
	for _, p := range plugged {
		var types, ids []string
		for _, dev := range p.Devices {
			types, ids = append(types, string(dev.Type)), append(ids, dev.ID)
		}
		args := health.Args{"product": p.Name, "types": texts.List(types...), "endpoints": texts.List(ids...)}
		unit, serials := d.Devices.UnitNames(p, plugged)
		if unit != "" {
			args["unit"] = unit
		}
		if len(serials) > 0 {
			args["serials"] = texts.List(serials...)
		}
		d.add(health.OK, health.DevicePlugged, p.Unit, args)
	}
	silent := d.withoutMicrophone()
	if d.withheld(len(plugged) > 0) || silent || len(plugged) > 0 {
		return
	}
	how, code := health.Problem, health.DevicesNone
	for _, s := range d.Sources {
		switch engine.Condition(s.Condition) {
		case engine.Working:
		case engine.Starting:
			how, code = health.Warning, health.DevicesNoneYet
		default:
			how, code = health.Warning, health.DevicesNoneSeen
		}
	}
	d.add(how, code, "", nil)
}

// withoutMicrophone adds the sound cards whose profile has no microphone, and returns whether there are any. One beside a microphone
// may be meant: a headset that is connected by radio and by Bluetooth. One that has none in any profile may be made so.
func (d *examination) withoutMicrophone() bool {
	for _, h := range d.Devices.WithoutMicrophone {
		how, args := health.Problem, health.Args{}
		if h.OutputsOnly {
			how, args["outputs_only"] = health.Warning, "true"
		}
		if len(d.microphones()) > 0 {
			how = health.Info
		}
		d.add(how, health.DeviceNoMicrophone, cmp.Or(h.Name, h.VID+":"+h.PID), args)
	}
	return len(d.Devices.WithoutMicrophone) > 0
}

// withheld adds the vendor's devices that are not reported, and returns whether there are any.
func (d *examination) withheld(reported bool) bool {
	how, milder := health.Problem, health.Warning
	if reported {
		how, milder = health.Warning, health.Info
	}
	found := false
	seen := make(map[string]bool) // by vid:pid, since a device may have several endpoints
	for _, h := range d.Devices.Withheld {
		e := d.endpoints[h.Key]
		vendors := d.vendors(e.VID)
		switch id := e.VID + ":" + e.PID; {
		case !h.Unknown && (vendors || !e.Virtual):
			d.withheldOne(milder, h, e)
		case !vendors || e.Virtual || seen[id]:
			continue
		default:
			seen[id] = true
			d.add(how, health.DeviceNotKnown, h.Name, d.reread(health.Args{"vid": e.VID, "pid": e.PID, "path": d.catalogueName()}))
		}
		found = true
	}
	return found
}

func (d *examination) withheldOne(how health.Severity, h devices.Withheld, e control.Endpoint) {
	args := health.Args{"type": string(h.Type)}
	if e.Plugged == devices.False {
		d.add(how, health.DeviceJackEmpty, h.Name, args)
		return
	}
	args["path"] = d.catalogueName()
	d.add(how, health.DeviceWithheld, h.Name, args, WhyWithheld(h)...)
}

// WhyWithheld returns why an endpoint is not reported.
func WhyWithheld(h devices.Withheld) []health.Condition {
	return control.KnownOf(control.Condition{Condition: h.Condition(), Message: h.Reason})
}

// vendors reports whether a USB vendor id is one of the catalogue's.
func (d *examination) vendors(vid string) bool {
	return vid != "" && d.Catalogue != nil && slices.ContainsFunc(d.Catalogue.Products, func(p catalogue.Product) bool {
		return slices.ContainsFunc(p.Links, func(l catalogue.Link) bool { return strings.EqualFold(l.VID, vid) })
	})
}

// MaxID is the length in bytes to which the client may cut names (rule R61).
const MaxID = 127

// ids looks for devices that the client may not recognise by the id it is sent.
func (d *examination) ids() {
	for _, r := range d.Devices.Reported {
		name := d.endpoint(r).Name
		if n := d.devicesOfOneID(r); n > 1 {
			how := health.Info
			if r.Type == devices.AudioInput { // others have nothing that the client would show of one of them alone
				how = health.Warning
			}
			d.add(how, health.DevicesOfOneID, r.ID, ofOneID(r, n))
		}
		if !strings.HasPrefix(name, r.ID) {
			continue // its id does not come from its name
		}
		if len(name) > MaxID || len(r.ID) < len(name) {
			d.add(health.Warning, health.DeviceNameLong, r.ID, health.Args{"bytes": strconv.Itoa(len(name)), "sent": strconv.Itoa(len(r.ID))})
		}
		if strings.HasPrefix(strings.ToLower(r.ID), "default") {
			d.add(health.Warning, health.DeviceNamedDefault, r.ID, nil)
		}
	}
}

func ofOneID(r devices.Report, n int) health.Args {
	return health.Args{"devices": strconv.Itoa(n), "type": string(r.Type)}
}

// devicesOfOneID returns how many devices have the id of a report. The endpoints of one unit are one: a camera with an infrared sensor, for
// example, has two of one name. So are those of one other device, which the catalogue need not know.
func (d *examination) devicesOfOneID(r devices.Report) int {
	device := func(k devices.Key) string {
		e := d.endpoints[k]
		return cmp.Or(e.Container, e.Serial, k.ID)
	}
	others := make(map[string]bool)
	for _, k := range r.Namesakes {
		others[device(k)] = true
	}
	for _, k := range r.Endpoints {
		delete(others, device(k))
	}
	return 1 + len(r.OtherUnits) + len(others)
}
