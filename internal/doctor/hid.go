package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
)

func (d *examination) hidDevices() {
	for _, s := range d.Sources {
		if s.Name == "hid" && engine.Condition(s.Condition) != engine.Working {
			d.add(health.Problem, health.HIDNotListed, "", health.Args{"reason": s.Condition}, reasons(s.Reason)...)
		}
	}
	for _, h := range d.HID {
		who := fmt.Sprintf("%s (%s)", h.Node, strings.TrimPrefix(fmt.Sprintf("%s, %s:%s", h.Name, h.VID, h.PID), ", "))
		if h.Reason != nil {
			d.add(health.Problem, health.HIDUnreadable, who, nil, d.whyUnreadable(h)...)
			continue
		}
		d.add(health.OK, health.HIDWorks, who, health.Args{"sources": strconv.Itoa(len(h.Sources))})
	}
}

// whyUnreadable returns why a device cannot be read. The advice names the catalogue, if there is one.
func (d *examination) whyUnreadable(h control.HID) []health.Condition {
	list := reasons(h.Reason)
	if list[0].Code == health.HIDDenied && d.CataloguePath != "" {
		list[0].Args = maps.Clone(list[0].Args)
		list[0].Args["catalogue"] = d.CataloguePath
	}
	return list
}

// whyHID returns why the value of a HID source is unknown; its Code is "" if a device does report it.
func (d *examination) whyHID(product string, f devices.Field, rule string) health.Condition {
	known := false
	for _, h := range d.HID {
		if h.Reason != nil && d.isOf(product, h) {
			return health.Condition{Code: health.WhyHIDUnreadable, Args: health.Args{"node": h.Node}, Because: d.whyUnreadable(h)}
		}
		for _, s := range h.Sources {
			switch {
			case s.Product != product || s.Rule != rule:
			case s.Value.Known():
				known = true
			case s.Remark != nil:
				remark := why(health.WhyHIDRemark, "node", h.Node)
				remark.Because = reasons(s.Remark)
				return remark
			case f == devices.HardwareMute:
				return why(health.WhyHIDMuteNotShown, "node", h.Node)
			default:
				return why(health.WhyHIDSwitchNotShown, "node", h.Node)
			}
		}
	}
	switch {
	case known:
		return health.Condition{}
	case d.Status != nil && !slices.ContainsFunc(d.Sources, func(s control.Source) bool { return s.Name == "hid" }):
		return why(health.WhyHIDNotRead)
	default:
		return why(health.WhyHIDMissing)
	}
}

// isOf reports whether the device has an id of the product.
func (d *examination) isOf(product string, h control.HID) bool {
	if d.Catalogue == nil {
		return false
	}
	return slices.ContainsFunc(d.Catalogue.Products, func(p catalogue.Product) bool {
		return p.ID == product && slices.ContainsFunc(p.Links, func(l catalogue.Link) bool {
			return strings.EqualFold(l.VID, h.VID) && slices.ContainsFunc(l.PIDs, func(pid string) bool { return strings.EqualFold(pid, h.PID) })
		})
	})
}
