package doctor

import (
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/rpcclient"
)

func (d *examination) clients() {
	c := d.Status.Clients
	switch {
	case len(c.Sessions) > 0:
	case c.Error == "":
		d.add(health.Warning, health.ClientsSearched, "", nil)
	case c.Reason != nil:
		d.add(health.Problem, c.Reason.Code, "", c.Reason.Args)
	default:
		d.add(health.Problem, health.ClientsMissing, "", nil, reason(nil, c.Error)...)
	}
	served := slices.ContainsFunc(c.Sessions, func(s control.Session) bool {
		return s.State == string(rpcclient.Ready) || s.State == string(rpcclient.Degraded)
	})
	for _, s := range c.Sessions {
		d.session(s, served)
	}
	for _, r := range reasons(c.Remarks, c.Notes...) {
		how := health.Warning
		if served {
			how = health.Info
		}
		d.add(how, health.ClientRemark, "", nil, r)
	}
}

// session judges the conversation with one client. One that gets nothing is a problem unless
// another one is served.
func (d *examination) session(s control.Session, served bool) {
	who, how, because := s.Client(), health.Problem, reason(s.Reason, s.Error)
	if served {
		how = health.Info
	}
	latest := s.Generation >= d.Status.Generation
	switch rpcclient.State(s.State) {
	case rpcclient.Ready:
		if !latest {
			d.add(health.Warning, health.ClientBehind, who, nil)
			return
		}
		d.add(health.OK, health.ClientServed, who, health.Args{"devices": strconv.Itoa(s.Devices), "age": age(s.Delivered, d.Now)})
	case rpcclient.Degraded:
		args := health.Args{}
		if latest {
			args["latest"] = "true"
		}
		if !s.NextTry.IsZero() {
			args["wait"] = seconds(s.NextTry.Sub(d.Now))
		}
		d.add(health.Warning, health.ClientLate, who, args, because...)
	case rpcclient.Slow:
		args := health.Args{"age": age(s.Since, d.Now)}
		if len(s.Muted) > 0 {
			args["muted"] = strings.Join(s.Muted, ", ")
		}
		d.add(health.Problem, health.ClientSlow, who, args)
	case rpcclient.Connecting:
		d.connecting(s, because)
	case rpcclient.Unsupported:
		d.add(how, health.ClientUnsupported, who, nil, because...)
	case rpcclient.Foreign:
		d.add(how, health.ClientForeign, who, nil, because...)
	case rpcclient.Waiting:
		d.add(how, health.ClientWaiting, who, nil)
	default:
		d.add(health.Problem, health.ClientRefuses, who, nil, because...)
	}
}

// connecting tells of a client that was found and has no list.
func (d *examination) connecting(s control.Session, because []health.Condition) {
	args := health.Args{}
	if len(because) > 0 && s.Transport == "" && s.Socket != "" { // it may be of the port, which is not shown
		args["other_way"] = "true"
	}
	d.add(health.Warning, health.ClientConnecting, s.Client(), args, because...)
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

// push judges one whose product args name.
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
		args["flags"] = strings.Join(idle, ", ")
		d.add(health.Warning, health.PushNoEffect, p.Owner, args)
	default:
		args["flags"] = p.Flags()
		if !p.Until.IsZero() {
			args["lease"] = seconds(p.Until.Sub(d.Now))
		}
		d.add(health.OK, health.PushInForce, p.Owner, args)
	}
}

// withSerials adds the serial numbers of what is plugged in of certain products, if any is known.
func (d *examination) withSerials(args health.Args, of func(devices.Report) bool) health.Args {
	if known := d.Devices.Serials(of); len(known) > 0 {
		args["serials"] = strings.Join(known, ", ")
	}
	return args
}

// withoutEffect are the flags of a push that no microphone of its product has from it.
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
