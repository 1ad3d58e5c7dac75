package doctor

import (
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// mute assesses the hardware mute of a microphone.
func (d *examination) mute(r devices.Report) {
	flag, reportable := r.Flags[devices.HardwareMute]
	e := d.endpoint(r)
	all := e.Considered[devices.HardwareMute]
	switch {
	case !reportable:
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
	if hw := d.microphoneOr(flag.Origin.Detail, e); flag.Origin.Via == devices.ViaOSEndpointMute && !hw.MuteInHardware {
		d.add(health.Info, health.MuteInSoftware, r.ID, health.Args{"model": r.Model.Name})
	}
}

// muteArgs returns the arguments for a known mute.
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

// microphoneOr returns the endpoint of a microphone with that id, or else e.
func (d *examination) microphoneOr(id string, e control.Endpoint) control.Endpoint {
	for _, other := range d.Devices.Endpoints {
		if other.Type == devices.AudioInput && other.ID == id {
			return other
		}
	}
	return e
}

// whyUnknown returns for each source of the mute why its value is unknown.
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

// otherFlags lists the other flags that have sources but no known value.
func (d *examination) otherFlags(r devices.Report) {
	e := d.endpoint(r)
	var unknown, rules []string
	for _, f := range devices.Fields {
		flag, reportable := r.Flags[f]
		if f == devices.HardwareMute || !reportable || flag.Value.Known() || len(e.Considered[f]) == 0 {
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
