package devices

import "slices"

// Hardware is a device that is plugged in, whatever endpoints it has at the moment: a sound card without a profile, one whose endpoints a
// session manager makes anew, a HID device. It proves that its unit has not left.
type Hardware struct {
	Source string `json:"source,omitempty"` // name of the source that listed it
	// ID is the OS's own id of it, among those of its source. It is the same for as long as the device surely stays; one that was plugged
	// in anew should have another where the OS can tell, even if nobody looked in between.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// Plugged: it was seen to be plugged in, so it was away before. False: it may have been there for long.
	Plugged bool `json:"plugged,omitempty"`
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
