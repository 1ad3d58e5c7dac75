package devices

import (
	"regexp"
	"slices"
)

// Rules describe a vendor's products on one OS. They must not be changed after NewResolver.
type Rules struct {
	Vendor   Company
	Products []Product
}

// Product is one model.
type Product struct {
	ID        string  // unique among the products
	Model     Company // as the client shows it
	Priority  int     // 1 comes first in the list, and wins where two products match the same hardware
	Links     []Link  // one match is enough
	Endpoints []EndpointRule
	Virtual   []EndpointRule // which virtual endpoints carry its sound
	Unrelated bool           // its endpoints do not list each other
	GroupBy   GroupBy
	IDScheme  IDScheme // overrides those of the OS and the user; "": does not
	Flags     []FlagRule
	LinkState []Source // tell whether it is really connected, best first
}

// Link matches the endpoints of a product: by the ids of the hardware, or by name alone where there are none.
type Link struct {
	Bus  Bus            // the bus of the hardware; of a link by name Bluetooth, PCI (a jack) or Virtual
	VID  string         // 4 lower-case hex digits; "": by name alone
	PIDs []string       // in the form of VID
	Name *regexp.Regexp // must match in the endpoint's name or OS id; nil: any
}

// EndpointRule matches endpoints of one type. The first match decides whether an endpoint is reported.
type EndpointRule struct {
	Type   Type
	Name   *regexp.Regexp // must match in the name or the OS id; nil: any
	Report bool
}

func (r EndpointRule) fits(e *Endpoint) bool { return r.Type == e.Type && matchesName(r.Name, e) }

func matchesName(re *regexp.Regexp, e *Endpoint) bool {
	return re == nil || re.MatchString(e.Name) || re.MatchString(e.ID)
}

// FlagRule is a source of one flag. The first rule for a flag with a known value decides.
type FlagRule struct {
	Field Field
	Name  *regexp.Regexp // must match in the name or the OS id of the input; nil: any
	Source
}

// isAbout reports whether the rule is about all that it would read for an audio input e with the given hardware behind: an
// effect belongs to e, everything else to the hardware.
func (r FlagRule) isAbout(e *Endpoint, behind []*Endpoint) bool {
	if r.Effect != "" {
		behind = []*Endpoint{e}
	}
	other := func(e *Endpoint) bool { return !matchesName(r.Name, e) }
	return r.Name == nil || len(behind) > 0 && !slices.ContainsFunc(behind, other)
}

// Source is where an on/off state comes from: one of EndpointMute to Const is set. If none is, the state is the Reading
// of the rule at this path.
type Source struct {
	Path   string // in the product: sources[1], sources[0].derive.or[1], link_state[0]
	Stated bool   // the device itself states the value; for a toggle, presses are counted

	EndpointMute *EndpointMute // the OS's mute of the endpoint
	Effect       Field         // processing that the OS says is active
	Control      *Control      // a control of the device's mixer
	Derive       *Derive       // several sources combined
	Const        Tri           // a fixed value
}

// EndpointMute is the OS's mute of the endpoint, which the device's button sets, too.
type EndpointMute struct {
	InHardware bool // only where the OS says that the device itself applies it
}

// Control is a control of the device's mixer.
type Control struct {
	Name   string         // in ALSA
	Means  map[string]Tri // what each value means; nil: it is an on/off switch
	Invert bool           // of a switch: on means false
	Shared bool           // both the button and the OS set it
}

// Derive combines several states into one.
type Derive struct {
	Or    bool // or; false: and
	Terms []Source
}

// Of combines the states of the terms, in any order.
func (d Derive) Of(terms []Tri) Tri {
	out := True
	for _, v := range terms {
		if d.Or {
			v = v.Not()
		}
		out = out.And(v)
	}
	if d.Or {
		out = out.Not()
	}
	return out
}
