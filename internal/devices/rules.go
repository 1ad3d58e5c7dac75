package devices

import "regexp"

// Rules are what a Resolver goes by: a vendor's products as they are on one OS. They must not change any more.
type Rules struct {
	Vendor   Company
	Products []Product
}

// Product is one model.
type Product struct {
	ID        string  // unique among the products
	Model     Company // as the client shows it
	Priority  int     // 1 comes first in the list, and wins where two products match the same hardware
	Links     []Link  // any one that matches is enough
	Endpoints []EndpointRule
	Virtual   []EndpointRule // which virtual endpoints carry its sound
	Unrelated bool           // its endpoints do not list each other
	GroupBy   GroupBy
	IDScheme  IDScheme // overrides what the OS and the user say; "": it does not
	Flags     []FlagRule
	LinkState []Source // whether it is really there, best first
}

// Link matches the endpoints of a product: by the ids of the hardware, or by name alone where there are none.
type Link struct {
	Bus  Bus            // the bus of the hardware; of a link by name Bluetooth, PCI (a jack) or Virtual
	VID  string         // 4 lower-case hex digits; "": by name alone
	PIDs []string       // as VID
	Name *regexp.Regexp // what the endpoint's name or OS id must contain; nil: anything
}

// EndpointRule fits endpoints of one type. The first that fits decides whether they are reported.
type EndpointRule struct {
	Type   Type
	Name   *regexp.Regexp // what the name or the OS id must contain; nil: anything
	Report bool
}

func (r EndpointRule) fits(e *Endpoint) bool { return r.Type == e.Type && matchesName(r.Name, e) }

func matchesName(re *regexp.Regexp, e *Endpoint) bool {
	return re == nil || re.MatchString(e.Name) || re.MatchString(e.ID)
}

// FlagRule says where one flag comes from. Of the rules for a flag the first that knows it decides.
type FlagRule struct {
	Field Field
	Source
}

// Source is where an on/off state comes from: one of the fields after Place is set. If none is, the state is what was
// read off the product's other devices by the rule at this place (Reading).
type Source struct {
	Place  string // in the product: sources[1], sources[0].derive.or[1], link_state[0]
	Stated bool   // the device itself says what its state is; a toggle does not, it counts presses

	EndpointMute *EndpointMute // the OS's mute of the endpoint
	Effect       Field         // processing that the OS says is active
	Control      *Control      // a control of the device's mixer
	Derive       *Derive       // several sources together
	Const        Tri           // a fixed value
}

// EndpointMute is the OS's mute of the endpoint, which the device's button moves, too.
type EndpointMute struct {
	InHardware bool // only where the OS says that the device itself applies it
}

// Control is a control of the device's mixer.
type Control struct {
	Name   string         // as ALSA has it
	Means  map[string]Tri // what the values of a control that is no switch mean; nil: it is a switch
	Invert bool           // of a switch: on means false
	Shared bool           // the button and the OS both move it
}

// Derive makes one state of several.
type Derive struct {
	Or    bool // true if one is true, false if all are false; else the other way round (and)
	Terms []Source
}

// Of derives a state from those of the terms, in any order.
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
