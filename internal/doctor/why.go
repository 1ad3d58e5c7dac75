package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// Why returns the kind of the source at a path of a product, and why it does not know a flag of e. The Code is "" if there is
// nothing to say.
func Why(f Facts, product string, e control.Endpoint, field devices.Field, path string) (kind string, reason health.Condition) {
	return newExamination(f).why(product, e, field, path)
}

func (d *examination) why(product string, e control.Endpoint, f devices.Field, path string) (kind string, reason health.Condition) {
	rule := d.rule(product, path)
	for _, c := range e.Considered[f] {
		if c.Rule == path && c.Why != "" {
			return rule.Via(), why(c.Why)
		}
	}
	if rule.Field != f {
		return "", why(health.WhyRuleUnknown, "path", d.catalogueName())
	}
	kind = rule.Via()
	reason = d.whyKind(product, e, f, path, rule.SourceKind)
	if reason.Code == "" && readsHID(kind) {
		reason = why(health.WhyOtherUnit)
	}
	return kind, reason
}

// why returns a condition with the given names and values of arguments. Empty values are left out.
func why(code health.Code, args ...string) health.Condition {
	c := health.Condition{Code: code, Severity: health.Warning}
	for pair := range slices.Chunk(args, 2) {
		if c.Args == nil {
			c.Args = make(health.Args)
		}
		if pair[1] != "" {
			c.Args[pair[0]] = pair[1]
		}
	}
	return c
}

func readsHID(kind string) bool {
	return slices.Contains([]string{devices.ViaHIDUsage, devices.ViaHIDReport, devices.ViaHIDQuery, devices.ViaHIDPP}, kind)
}

// rule returns the source at a path of a product, or the zero value.
func (d *examination) rule(product, path string) catalogue.SourceRule {
	if d.Catalogue == nil {
		return catalogue.SourceRule{}
	}
	for _, p := range d.Catalogue.Products {
		for i, s := range p.Sources {
			if p.ID == product && path == fmt.Sprintf("sources[%d]", i) {
				return s
			}
		}
	}
	return catalogue.SourceRule{}
}

// whyKind does the same as why for a source k, which may be a term of a derived one.
func (d *examination) whyKind(product string, e control.Endpoint, f devices.Field, at string, k catalogue.SourceKind) health.Condition {
	hw := d.hardware(e)
	switch via := k.Via(); {
	case via == devices.ViaDerive:
		for at, term := range k.Derive.Terms(at) {
			if reason := d.whyKind(product, e, f, at, term); reason.Code != "" {
				reason.Subject = term.Via()
				return reason
			}
		}
	case readsHID(via):
		return d.whyHID(product, f, at)
	case via == devices.ViaOSEffects:
		effect := cmp.Or(k.OSEffects.Effect, f)
		if !e.Effects[effect].Known() {
			return why(health.WhyEffectUnknown, "effect", string(effect))
		}
	case via == devices.ViaOSEndpointMute:
		demanded := k.OSEndpointMute.RequireHardwareSupport == nil || *k.OSEndpointMute.RequireHardwareSupport
		switch {
		case !hw.Mute.Known():
			return why(health.WhyMuteUnknown)
		case demanded && !hw.MuteInHardware:
			return why(health.WhyMuteInSoftware, "product", product)
		}
	case via == devices.ViaALSACtl:
		return d.whyControl(product, hw, at, k.ALSACtl)
	}
	return health.Condition{}
}

// whyControl does the same as why for a mixer control of hw.
func (d *examination) whyControl(product string, hw control.Endpoint, at string, k *catalogue.ALSACtl) health.Condition {
	state, isSwitch := hw.Controls[k.Name]
	setting, isSetting := hw.Settings[k.Name]
	missing := func(code health.Code, others []string) health.Condition {
		c := why(code, "control", k.Name, "rule", at, "product", product, "others", texts.List(others...))
		d.reread(c.Args)
		return c
	}
	switch {
	case len(hw.Controls)+len(hw.Settings) == 0:
		return why(health.WhyMixerUnreadable, "control", k.Name)
	case !k.IsSwitch() && isSetting:
		return why(health.WhyControlValue, "control", k.Name, "value", setting)
	case !k.IsSwitch() && isSwitch, k.IsSwitch() && isSetting:
		return why(health.WhyControlKind, "control", k.Name)
	case !k.IsSwitch():
		return missing(health.WhyControlMissing, slices.Sorted(maps.Keys(hw.Settings)))
	case !isSwitch:
		return missing(health.WhySwitchMissing, slices.Sorted(maps.Keys(hw.Controls)))
	case !state.Known():
		return why(health.WhySwitchAmbiguous, "control", k.Name)
	}
	return health.Condition{}
}

// hardware returns the microphone whose mutes act on e: the one at the end of the chain of masters that the system names, else e.
func (d *examination) hardware(e control.Endpoint) control.Endpoint {
	for range d.Devices.Endpoints { // no chain is longer
		if e.Virtual {
			e = d.microphoneOr(e.Master, e)
		}
	}
	return e
}
