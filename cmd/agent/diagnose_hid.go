package main

import (
	"fmt"
	"slices"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
)

func (d *diagnosis) hidDevices() {
	for _, s := range d.Sources {
		if s.Name == "hid" && engine.Condition(s.Condition) != engine.Working {
			d.add(stepSources, wrong, "Restart the agent; if it stays so, set sources.hid to false and report it", "HID devices cannot be looked for: %s", s.Error)
		}
	}
	for _, h := range d.HID {
		who := fmt.Sprintf("%s (%s, %s:%s)", h.Node, orElse(h.Name, "without a name"), h.VID, h.PID)
		if h.Error != "" {
			d.add(stepSources, wrong, d.hidRemedy(h), "The HID device %s cannot be read, so its buttons are not noticed: %s", who, h.Error)
			continue
		}
		d.add(stepSources, fine, "", "The HID device %s is read; sources of the catalogue that look at it: %d", who, len(h.Sources))
	}
}

// hidRemedy is what helps against a device that cannot be read.
func (d *diagnosis) hidRemedy(h control.HID) string {
	if !strings.Contains(h.Error, "permission") {
		return "Unplug the device and plug it in again"
	}
	return fmt.Sprintf("Put the output of 'sidetone catalogue udev %s' into /etc/udev/rules.d/70-sidetone-hid.rules, and plug the device in again; a user who is logged in at the machine itself may then read it",
		orElse(d.CataloguePath, "FILE"))
}

// whyHID says why a source of HID devices does not know a flag. What to do is empty where other
// sources may have better advice.
func (d *diagnosis) whyHID(product string, f devices.Field, rule string) (why, do string) {
	const compare = "Compare the source with what the device sends: 'sidetone learn' shows that"
	known := false
	for _, h := range d.HID {
		if h.Error != "" && d.isOf(product, h) {
			return fmt.Sprintf("its HID device %s cannot be read", h.Node), d.hidRemedy(h)
		}
		for _, s := range h.Sources {
			switch {
			case s.Product != product || s.Rule != rule:
			case s.Value.Known():
				known = true
			case s.Note != "":
				return fmt.Sprintf("%s: %s", h.Node, s.Note), compare
			case f == devices.HardwareMute:
				return fmt.Sprintf("the device (%s) has not shown it since it was plugged in, or since the agent runs", h.Node), "Press the button once; if that does not help, unplug the device and plug it in again"
			default:
				return fmt.Sprintf("the device (%s) has not shown it since it was plugged in, or since the agent runs", h.Node), "Switch it once on the device"
			}
		}
	}
	switch {
	case known:
		return "", ""
	case d.Status != nil && !slices.ContainsFunc(d.Sources, func(s control.Source) bool { return s.Name == "hid" }):
		return "the agent reads no HID devices", "Set sources.hid to true and restart the agent; on another system than Linux push the state from the vendor's software"
	default:
		return "no HID device of the product is there that sends what this source reads", ""
	}
}

// isOf reports whether the device bears an id of the product.
func (d *diagnosis) isOf(product string, h control.HID) bool {
	if d.Catalogue == nil {
		return false
	}
	return slices.ContainsFunc(d.Catalogue.Products, func(p catalogue.Product) bool {
		return p.ID == product && slices.ContainsFunc(p.Links, func(l catalogue.Link) bool {
			return strings.EqualFold(l.VID, h.VID) && slices.ContainsFunc(l.PIDs, func(pid string) bool { return strings.EqualFold(pid, h.PID) })
		})
	})
}
