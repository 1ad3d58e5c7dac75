package devices

import (
	"iter"
	"slices"

	"sidetone/internal/health"
)

// evaluate returns the flag of one field for an audio input e, whose sound comes from the
// inputs behind (e itself if it is hardware; none: from nobody knows where, so nothing that is said of the
// product holds for e). Pushes by the vendor's software come first, then the catalogue's rules in order; the first known value decides.
// The last answer of a source that has failed gives way to what the device itself states now.
func (inst *instance) evaluate(f Field, e *Endpoint, behind []*Endpoint) Flag {
	for c := range inst.consider(f, e, behind) {
		switch {
		case !c.known():
		case !c.Flag.Origin.Stale:
			return c.Flag
		default:
			return firstKnown(inst.ranked(f, e, behind))
		}
	}
	return Flag{}
}

func firstKnown(ranked []Considered) Flag {
	for _, c := range ranked {
		if c.known() {
			return c.Flag
		}
	}
	return Flag{}
}

// Considered is one possible origin of a flag, and what it says.
type Considered struct {
	Rule string `json:"rule"` // push, or the path of the rule in the product, such as sources[2]
	Flag Flag   `json:"flag"` // unknown: it does not know
	// Why is why it does not count here, whatever it knows. Empty: it counts.
	Why health.Code `json:"why,omitempty"`
}

func (c Considered) known() bool { return c.Flag.Value.Known() }

// ranked returns all possible origins of the flag, best first.
func (inst *instance) ranked(f Field, e *Endpoint, behind []*Endpoint) []Considered {
	all := slices.Collect(inst.consider(f, e, behind))
	first := slices.IndexFunc(all, Considered.known)
	if first < 0 || !all[first].Flag.Origin.Stale {
		return all
	}
	fresh := slices.IndexFunc(all, func(c Considered) bool { return c.known() && inst.product.statedByDevice(c.Rule) })
	if fresh > first {
		c := all[fresh]
		all = slices.Insert(slices.Delete(all, fresh, fresh+1), first, c)
	}
	return all
}

func (p *product) statedByDevice(rule string) bool {
	return slices.ContainsFunc(p.Flags, func(r FlagRule) bool { return r.Path == rule && r.Stated })
}

// consider yields every possible origin of the flag of this input, in the order of the catalogue.
func (inst *instance) consider(f Field, e *Endpoint, behind []*Endpoint) iter.Seq[Considered] {
	return func(yield func(Considered) bool) {
		pushes := inst.pushes
		if len(behind) > 0 && !inst.product.hasOn(e, behind, f) {
			pushes = nil
		}
		var ofHardware health.Code // why what is said of hardware does not count
		if len(behind) == 0 {
			ofHardware = health.WhyMicrophoneUnknown
		}
		for _, p := range latestFirst(pushes, f) {
			v, said := p.State[f]
			c := Considered{ViaPush, Flag{v, Origin{Via: ViaPush, Detail: p.Owner}, p.Since[f]}, ofHardware}
			if ofHardware != "" {
				c.Flag = Flag{}
			}
			if said && !yield(c) {
				return
			}
		}
		for _, r := range inst.product.Flags {
			if r.Field != f || !r.isAbout(e, behind) {
				continue
			}
			c := Considered{Rule: r.Path, Flag: inst.read(r.Source, f, e, behind)}
			if !c.known() && r.isOfHardware() {
				c.Why = ofHardware
			}
			if !yield(c) {
				return
			}
		}
	}
}

// hasOn reports whether the product has the flag on an input: if its rules for the flag are about other inputs only, it has not.
func (p *product) hasOn(e *Endpoint, behind []*Endpoint, f Field) bool {
	ruled := false
	for _, r := range p.Flags {
		if r.Field == f && r.isAbout(e, behind) {
			return true
		}
		ruled = ruled || r.Field == f
	}
	return !ruled
}

// readHardware reads an endpoint mute or mixer control of a hardware endpoint.
func (s Source) readHardware(hw *Endpoint) Flag {
	if m := s.EndpointMute; m != nil {
		if m.InHardware && !hw.MuteInHardware {
			return Flag{}
		}
		return hw.flag(hw.Mute, factMute, Origin{Via: ViaOSEndpointMute, Detail: hw.ID, Shared: true})
	}
	c := s.Control
	v, fact := hw.Controls[c.Name], factControl
	if c.Means != nil {
		v, fact = c.Means[hw.Settings[c.Name]], factSetting
	}
	if c.Invert {
		v = v.Not()
	}
	return hw.flag(v, fact+c.Name, Origin{Via: ViaALSACtl, Detail: c.Name, Shared: c.Shared})
}

// flag makes a fact of e into a Flag, with its origin and age; an unknown fact has neither.
func (e *Endpoint) flag(v Tri, fact string, o Origin) Flag {
	if !v.Known() {
		return Flag{}
	}
	o.Stale = e.Stale
	return Flag{Value: v, Origin: o, Since: e.Changed[fact]}
}

// mergeFlags combines the states of several inputs that the client cannot tell apart: true if all are
// true, since the last became so; false if any is false, since the first became so. The origin is that
// of the first flag with the merged value.
func mergeFlags(flags []Flag) Flag {
	if len(flags) == 0 {
		return Flag{}
	}
	v := flags[0].Value
	for _, f := range flags[1:] {
		v = v.And(f.Value)
	}
	if !v.Known() {
		return Flag{}
	}
	i := slices.IndexFunc(flags, func(f Flag) bool { return f.Value == v })
	out := flags[i]
	for _, f := range flags[i+1:] {
		if f.Value == v && f.Since.After(out.Since) == (v == True) {
			out.Since = f.Since
		}
	}
	return out
}
