package hid

import (
	"cmp"
	"time"

	"sidetone/internal/devices"
)

// unit is one physical product as far as its HID devices tell.
type unit struct{ product, identity string }

func (u unit) compare(v unit) int {
	return cmp.Or(cmp.Compare(u.product, v.product), cmp.Compare(u.identity, v.identity))
}

func (d *tracked) unit(product string) unit {
	return unit{product, cmp.Or(d.device.Container, d.device.Serial, d.device.Node)}
}

// links are the states of the links that rules watch. Where several rules or devices speak of one
// link it is up if one says so, down if none does and one says that.
func (t *Tracker) links() map[unit]devices.Tri {
	var out map[unit]devices.Tri
	for _, d := range t.devices {
		for _, s := range d.sensors {
			if !s.link {
				continue
			}
			if out == nil {
				out = make(map[unit]devices.Tri)
			}
			if u := d.unit(s.product); out[u] != devices.True && s.value.Known() {
				out[u] = s.value
			}
		}
	}
	return out
}

// linked is for a link that has come up, gone down, or become known. What was known of a product
// whose link went down says nothing of the product that comes back.
func (t *Tracker) linked(u unit, was, is devices.Tri, at, now time.Time) {
	for _, d := range t.sorted() {
		mine := func(s *sensor) bool { return !s.link && d.unit(s.product) == u }
		if is == devices.False || was == devices.False {
			d.forget(at, mine)
		}
		if is != devices.True {
			continue
		}
		if was == devices.False {
			for _, s := range d.sensors {
				if mine(s) {
					s.reset(at)
				}
			}
		}
		d.ask(devices.AtLinkUp, now, mine)
	}
}
