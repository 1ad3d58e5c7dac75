package devices

import (
	"fmt"
	"slices"
	"strings"
)

func (f *faults) sources(path string, p Product) {
	if len(p.Sources) > 0 && !p.reportsInput() {
		f.add(path, "flags are reported on an audioinput only", "the product reports no audioinput")
	}
	for i, r := range p.Sources {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.systems(at+".os", r.OS)
		if kinds := r.kinds(); len(kinds) != 1 {
			f.add(at, "one of "+strings.Join(sourceKinds, ", "), "want exactly one kind of source, found %d", len(kinds))
			continue
		}
		f.source(at, r)
		f.reachable(at, r, p.Sources[:i])
	}
}

func (p Product) reportsInput() bool {
	return slices.ContainsFunc(p.Endpoints, func(r EndpointRule) bool {
		return r.Type == AudioInput && (r.Report == nil || *r.Report)
	}) || slices.ContainsFunc(p.VirtualEndpoints, func(r VirtualRule) bool { return r.Type == AudioInput })
}

var sourceKinds = []string{ViaOSEndpointMute, ViaOSEffects, ViaALSACtl, ViaConst}

// kinds lists the kinds of source that r names.
func (r SourceRule) kinds() []string {
	named := []bool{r.OSEndpointMute != nil, r.OSEffects != nil, r.ALSACtl != nil, r.Const != nil}
	var out []string
	for i, kind := range sourceKinds {
		if named[i] {
			out = append(out, kind)
		}
	}
	return out
}

// source checks that a kind and its field go together.
func (f *faults) source(path string, r SourceRule) {
	mute := r.Field == HardwareMute
	switch {
	case r.OSEndpointMute != nil && !mute:
		f.add(path+".os_endpoint_mute", "", "os_endpoint_mute knows nothing but hardware_mute")
	case r.OSEffects != nil && mute:
		f.add(path+".os_effects", "", "os_effects does not know hardware_mute")
	case r.OSEffects != nil && r.OSEffects.Effect == HardwareMute:
		f.add(path+".os_effects.effect", "", "hardware_mute is not an effect")
	case r.Const != nil && mute:
		f.add(path+".const", "", "hardware_mute is never constant")
	case r.ALSACtl != nil && strings.TrimSpace(r.ALSACtl.Name) == "":
		f.add(path+".alsa_ctl.name", "'sidetone devices' shows the names", "empty name of a control")
	case r.ALSACtl != nil && !forOS(r.OS, Linux):
		f.add(path+".os", "", "alsa_ctl works on linux only, so this rule never applies")
	}
}

// reachable finds rules that never decide, because earlier ones know whenever they would.
func (f *faults) reachable(path string, r SourceRule, earlier []SourceRule) {
	left := systems(r.OS)
	if r.ALSACtl != nil {
		left = slices.DeleteFunc(slices.Clone(left), func(os OS) bool { return os != Linux })
	}
	if len(left) == 0 {
		return
	}
	for i, e := range earlier {
		if e.Field != r.Field || len(e.kinds()) != 1 || !e.covers(r) {
			continue
		}
		if left = without(left, e.OS); len(left) == 0 {
			f.add(path, fmt.Sprintf("sources[%d] decides before it", i), "unreachable source")
			return
		}
	}
}

// covers reports whether e knows a flag whenever a later rule r does.
func (e SourceRule) covers(r SourceRule) bool {
	switch {
	case e.Const != nil:
		return e.Field != HardwareMute // there it is a fault of its own
	case e.OSEndpointMute != nil && r.OSEndpointMute != nil:
		return !e.OSEndpointMute.strict() || r.OSEndpointMute.strict()
	case e.OSEffects != nil && r.OSEffects != nil:
		return e.effect() == r.effect()
	case e.ALSACtl != nil && r.ALSACtl != nil:
		return e.ALSACtl.Name == r.ALSACtl.Name
	default:
		return false
	}
}

func (m *OSEndpointMute) strict() bool {
	return m.RequireHardwareSupport == nil || *m.RequireHardwareSupport
}

func (r SourceRule) effect() Field {
	if r.OSEffects.Effect != "" {
		return r.OSEffects.Effect
	}
	return r.Field
}
