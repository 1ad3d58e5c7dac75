package doctor

import (
	"slices"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// mute assesses the hardware mute of a microphone.
func (d *examination) mute(r devices.Report) {
	flag, reportable := r.Flags[devices.HardwareMute]
	e := d.unknowing(r, devices.HardwareMute)
	all := e.Considered[devices.HardwareMute]
	switch {
	case !reportable:
		d.add(health.Problem, health.MuteNotSent, r.ID, d.reread(health.Args{}))
	case !flag.Value.Known() && len(all) == 0:
		d.add(health.Warning, health.MuteSourceless, r.ID, health.Args{"product": r.Product})
	case !flag.Value.Known():
		reasons := d.whyUnknown(all, r, e)
		if others, ok := d.whyOthers(r, e, devices.HardwareMute); ok {
			reasons = []health.Condition{others}
		}
		d.add(health.Problem, health.MuteUnknown, r.ID, health.Args{"endpoint": e.ID, "product": r.Product}, reasons...)
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

// unknowing returns the first endpoint of r of which a flag is unknown, or the first one.
func (d *examination) unknowing(r devices.Report, f devices.Field) control.Endpoint {
	for _, k := range r.Endpoints {
		if e := d.endpoints[k]; !isKnown(e, f) {
			return e
		}
	}
	return d.endpoint(r)
}

// isKnown reports whether a flag is known of an endpoint by itself.
func isKnown(e control.Endpoint, f devices.Field) bool {
	return slices.ContainsFunc(e.Considered[f], func(c devices.Considered) bool { return c.Flag.Value.Known() })
}

// WhyOthers returns why a flag is unknown although it is known of the endpoint e of r by itself: because of others with its id. It reports
// whether that is so.
func WhyOthers(f Facts, r devices.Report, e control.Endpoint, field devices.Field) (health.Condition, bool) {
	return newExamination(f).whyOthers(r, e, field)
}

func (d *examination) whyOthers(r devices.Report, e control.Endpoint, f devices.Field) (health.Condition, bool) {
	args := ofOneID(r, max(d.devicesOfOneID(r), 2)) // or two inputs of one device
	shared := health.Condition{Code: health.DevicesOfOneID, Severity: health.Warning, Subject: r.ID, Args: args}
	return shared, len(r.Endpoints)+len(r.Namesakes) > 1 && isKnown(e, f) && !r.Flags[f].Value.Known()
}

// otherFlags lists the other flags that have sources but no known value.
func (d *examination) otherFlags(r devices.Report) {
	var unknown, rules []string
	var endpoint string
	for _, f := range devices.Fields {
		flag, reportable := r.Flags[f]
		e := d.unknowing(r, f)
		all := e.Considered[f]
		_, others := d.whyOthers(r, e, f)
		if f == devices.HardwareMute || !reportable || flag.Value.Known() || len(all) == 0 || others {
			continue
		}
		unknown, endpoint = append(unknown, string(f)), e.ID
		for _, c := range all {
			rules = append(rules, c.Rule)
		}
	}
	if len(unknown) > 0 {
		d.add(health.Info, health.FlagsUnknown, r.ID, health.Args{
			"flags": texts.List(unknown...), "rules": texts.List(rules...), "product": r.Product, "endpoint": endpoint,
		})
	}
}
