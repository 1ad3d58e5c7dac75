package doctor

import (
	"slices"
	"strconv"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/rpcclient"
	"sidetone/internal/texts"
)

func (d *examination) clients() {
	c := d.Status.Clients
	switch {
	case len(c.Sessions) > 0:
	case c.Reason == nil:
		d.add(health.Warning, health.ClientsSearched, "", nil)
	case c.Reason.Known().Code == health.Unexplained:
		d.add(health.Problem, health.ClientsMissing, "", nil, reasons(c.Reason)...)
	default:
		d.add(health.Problem, c.Reason.Code, "", c.Reason.Args)
	}
	served := slices.ContainsFunc(c.Sessions, control.Session.Connected)
	for _, s := range c.Sessions {
		d.session(s, served)
	}
	for _, r := range control.KnownOf(c.Remarks...) {
		how := health.Warning
		if served {
			how = health.Info
		}
		if r.Code == health.ClientsUnwatched {
			d.add(how, r.Code, "", r.Args, r.Because...)
		} else {
			d.add(how, health.ClientRemark, "", nil, r)
		}
	}
}

// session assesses the session with one client. One that gets nothing is a problem unless another one is
// served.
func (d *examination) session(s control.Session, served bool) {
	how, because := health.Problem, reasons(s.Reason)
	if served {
		how = health.Info
	}
	latest := s.Generation >= d.Status.Generation
	args := s.Args()
	add := func(how health.Severity, code health.Code, because ...health.Condition) {
		if d.tells(how, code) { // making the text takes longer than everything else
			d.add(how, code, s.Client(), args, because...)
		}
	}
	switch rpcclient.State(s.State) {
	case rpcclient.Ready:
		if !latest {
			add(health.Warning, health.ClientBehind)
			return
		}
		args["devices"], args["age"] = strconv.Itoa(s.Devices), age(s.Delivered, d.Now)
		add(health.OK, health.ClientServed)
	case rpcclient.Degraded:
		if latest {
			args["latest"] = "true"
		}
		if !s.NextTry.IsZero() {
			args["wait"] = seconds(s.NextTry.Sub(d.Now))
		}
		add(health.Warning, health.ClientLate, because...)
	case rpcclient.Slow:
		args["age"] = age(s.Since, d.Now)
		if len(s.Muted) > 0 {
			args["muted"] = texts.List(s.Muted...)
		}
		add(health.Problem, health.ClientSlow)
	case rpcclient.Connecting:
		if len(because) > 0 && s.TriedOtherwise() {
			args["other_way"] = "true"
		}
		add(health.Warning, health.ClientConnecting, because...)
	case rpcclient.Unsupported:
		add(how, health.ClientUnsupported, because...)
	case rpcclient.Foreign:
		add(how, health.ClientForeign, because...)
	case rpcclient.Waiting:
		add(how, health.ClientWaiting)
	default:
		for name, ids := range map[string][]string{"muted": s.Muted, "missing": s.Missing} {
			if len(ids) > 0 {
				args[name] = texts.List(ids...)
			}
		}
		add(health.Problem, health.ClientRefuses, because...)
	}
}

func (d *examination) pushes() {
	for _, p := range d.Status.Pushes {
		product := p.Product
		if p.Serial != "" {
			product += " (" + p.Serial + ")"
		}
		d.push(p, health.Args{"product": product})
	}
}

// push assesses one push; args name its product.
func (d *examination) push(p control.Push, args health.Args) {
	isOf := func(r devices.Report) bool { return r.Product == p.Product }
	idle := d.withoutEffect(p)
	switch {
	case p.Units == 0 && slices.ContainsFunc(d.Devices.Reported, isOf):
		d.add(health.Warning, health.PushOtherSerials, p.Owner, d.withSerials(args, isOf))
	case p.Units == 0:
		d.add(health.Warning, health.PushWaits, p.Owner, args)
	case p.Units > 1:
		args["units"] = strconv.Itoa(p.Units)
		d.add(health.Problem, health.PushAmbiguous, p.Owner, d.withSerials(args, isOf))
	case len(idle) > 0:
		args["flags"] = texts.List(idle...)
		d.add(health.Warning, health.PushNoEffect, p.Owner, args)
	default:
		args["states"] = p.States()
		if !p.Until.IsZero() {
			args["lease"] = seconds(p.Until.Sub(d.Now))
		}
		d.add(health.OK, health.PushInForce, p.Owner, args)
	}
}

// withSerials adds the known serial numbers of the reported devices that match.
func (d *examination) withSerials(args health.Args, of func(devices.Report) bool) health.Args {
	if known := d.Devices.Serials(of); len(known) > 0 {
		args["serials"] = texts.List(known...)
	}
	return args
}

// withoutEffect returns the flags of a push that no microphone of its product takes from it.
func (d *examination) withoutEffect(p control.Push) []string {
	var idle []string
	for _, f := range devices.Fields {
		counts := func(r devices.Report) bool {
			o := r.Flags[f].Origin
			return r.Product == p.Product && o.Via == devices.ViaPush && o.Detail == p.Owner
		}
		if p.State[f].Known() && !slices.ContainsFunc(d.microphones(), counts) {
			idle = append(idle, string(f))
		}
	}
	return idle
}
