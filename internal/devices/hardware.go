package devices

import (
	"slices"
	"time"
)

// Hardware is a device that is plugged in, whatever endpoints it has at the moment: a sound card without a profile, one whose endpoints a
// session manager makes anew, a HID device. It proves that its unit has not left.
type Hardware struct {
	Source string `json:"source,omitempty"` // name of the source that listed it
	// ID is the OS's own id of it, among those of its source. It is the same for as long as the device surely stays; one that was plugged
	// in anew should have another where the OS can tell, even if nobody looked in between.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Plugged is when it was seen to be plugged in, so that it was away before. Zero: it may have been there for long.
	Plugged time.Time `json:"plugged,omitzero"`
	// Sound: it is a sound card, listed together with all endpoints that its profile makes at the moment.
	Sound bool `json:"sound,omitempty"`
	// OutputsOnly: no profile of this sound card makes a microphone, whichever is chosen.
	OutputsOnly bool `json:"outputs_only,omitempty"`
	// The identity, in the form of an Endpoint and equal to that of the device's endpoints.
	Bus       Bus    `json:"bus,omitempty"`
	VID       string `json:"vid,omitempty"`
	PID       string `json:"pid,omitempty"`
	Serial    string `json:"serial,omitempty"`
	Container string `json:"container,omitempty"`
}

// assignHardware assigns each device to its unit. It belongs to the units of all products whose links have its ids; a unit of which
// nothing else is there is made only if there is one such product.
func (g *Grouping) assignHardware(list []Hardware) {
	for i := range list {
		h := &list[i]
		products := g.resolver.matcher.ofHardware(h)
		for _, p := range products {
			var inst *instance
			d := identity{p.ID, h.Container, h.Serial}
			if len(products) == 1 {
				inst = g.unitOf(d)
			} else if owners := g.owners(d); len(owners) == 1 {
				inst = owners[0]
			}
			if inst != nil {
				inst.hardware = append(inst.hardware, h)
			}
		}
	}
}

// ofHardware returns the products whose links a device may meet. A name in a link is that of an endpoint, which a device need not have; but
// by a name alone only Bluetooth devices are found, since the card behind a jack is that of the computer.
func (m *matcher) ofHardware(h *Hardware) (list []*product) {
	add := func(p *product) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, c := range m.byHardware[hardwareIDs{h.Bus, h.VID, h.PID}] {
		add(c.product)
	}
	for _, c := range m.byName {
		if c.bus == Bluetooth && h.Bus == Bluetooth && (c.name.MatchString(h.Name) || c.name.MatchString(h.ID)) {
			add(c.product)
		}
	}
	return list
}

// WithoutMicrophone returns the sound cards of products whose microphone is to be reported, if neither the card nor its unit has one at the
// moment: their profile is off, or has outputs only, as all of them may have. A card is left out if it may be of a product without a
// microphone, or of another vendor's device with the same ids.
func (g *Grouping) WithoutMicrophone(list []Hardware) (without []Hardware) {
	for _, h := range list {
		if h.Sound && g.lacksMicrophone(&h) {
			without = append(without, h)
		}
	}
	return without
}

func (g *Grouping) lacksMicrophone(h *Hardware) bool {
	products := g.resolver.matcher.ofHardware(h)
	for _, p := range products {
		if !p.reportsMicrophone() || !p.named(h) {
			return false
		}
		for _, unit := range g.owners(identity{p.ID, h.Container, h.Serial}) {
			if slices.ContainsFunc(unit.endpoints, (*Endpoint).isMicrophone) {
				return false
			}
		}
	}
	// A microphone that cannot be assigned to one unit is one, too.
	return len(products) > 0 && !slices.ContainsFunc(g.endpoints, func(e *Endpoint) bool { return e.isMicrophone() && h.mayHave(e) })
}

// mayHave reports whether an endpoint may be one of the device's.
func (h *Hardware) mayHave(e *Endpoint) bool {
	if h.Container != "" && e.Container != "" {
		return h.Container == e.Container
	}
	return h.Bus == e.Bus && h.VID == e.VID && h.PID == e.PID
}

func (p *product) reportsMicrophone() bool {
	return slices.ContainsFunc(p.Endpoints, func(r EndpointRule) bool { return r.Type == AudioInput && r.Report })
}

// named reports whether a link of the product asks for no name, or for that of the device.
func (p *product) named(h *Hardware) bool {
	return slices.ContainsFunc(p.Links, func(l Link) bool { return l.Name == nil || l.Name.MatchString(h.Name) || l.Name.MatchString(h.ID) })
}
