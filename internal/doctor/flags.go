package doctor

import (
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// mute says whether anybody knows the hardware mute of a microphone.
func (d *examination) mute(r devices.Report) {
	flag, may := r.Flags[devices.HardwareMute]
	e := d.endpoint(r)
	all := e.Considered[devices.HardwareMute]
	switch {
	case !may:
		d.add(health.Problem, health.MuteNotSent, r.ID, d.reread(health.Args{}))
	case !flag.Value.Known() && len(all) == 0:
		d.add(health.Warning, health.MuteSourceless, r.ID, health.Args{"product": r.Product})
	case !flag.Value.Known():
		d.add(health.Problem, health.MuteUnknown, r.ID, health.Args{"endpoint": e.ID, "product": r.Product}, d.whyUnknown(all, r, e)...)
	case flag.Origin.Stale:
		d.add(health.Warning, health.MuteStale, r.ID, muteArgs(flag))
	default:
		d.add(health.OK, health.MuteKnown, r.ID, muteArgs(flag))
	}
	if hw := d.origin(flag, e); flag.Origin.Via == devices.ViaOSEndpointMute && !hw.MuteInHardware {
		d.add(health.Info, health.MuteInSoftware, r.ID, health.Args{"model": r.Model.Name})
	}
}

// muteArgs are those of a known mute; one that button and OS share is the hardware's and the OS's.
func muteArgs(flag devices.Flag) health.Args {
	args := health.Args{"origin": flag.Origin.Word(), "source": flag.Origin.Source()}
	if flag.Value == devices.True {
		args["muted"] = "true"
	}
	if flag.Origin.Shared {
		args["shared"] = "true"
	}
	return args
}

// origin is the endpoint whose fact the flag is: e, or the one whose sound e carries.
func (d *examination) origin(f devices.Flag, e control.Endpoint) control.Endpoint {
	for _, other := range d.Devices.Endpoints {
		if other.Type == devices.AudioInput && other.ID == f.Origin.Detail {
			return other
		}
	}
	return e
}

// whyUnknown says of each source of the mute why it does not know.
func (d *examination) whyUnknown(all []devices.Considered, r devices.Report, e control.Endpoint) (reasons []health.Condition) {
	for _, c := range all {
		_, reason := d.why(r.Product, e, devices.HardwareMute, c.Rule)
		if reason.Code == "" {
			reason = why(health.WhyNotSaid)
		}
		if reason.Subject != "" {
			reason.Subject = ": " + reason.Subject
		}
		reason.Subject = c.Rule + reason.Subject
		reasons = append(reasons, reason)
	}
	return reasons
}

// otherFlags names those that have sources of which none knows.
func (d *examination) otherFlags(r devices.Report) {
	e := d.endpoint(r)
	var unknown, rules []string
	for _, f := range devices.Fields {
		flag, may := r.Flags[f]
		if f == devices.HardwareMute || !may || flag.Value.Known() || len(e.Considered[f]) == 0 {
			continue
		}
		unknown = append(unknown, string(f))
		for _, c := range e.Considered[f] {
			rules = append(rules, c.Rule)
		}
	}
	if len(unknown) > 0 {
		d.add(health.Info, health.FlagsUnknown, r.ID, health.Args{
			"flags": texts.List(unknown...), "rules": texts.List(rules...), "product": r.Product, "endpoint": e.ID,
		})
	}
}
