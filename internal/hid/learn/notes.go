package learn

import (
	"fmt"
	"slices"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// notes returns hints to the user beside the proposals, such as why there are none.
func (l *analysis) notes(found int) []string {
	var out []string
	note := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if l.product.Bus != devices.USB && l.product.Bus != devices.Bluetooth {
		note("the device is neither on USB nor on Bluetooth: no link of a catalogue can name it, so no rule can read it")
	}
	for _, e := range l.denied {
		note("%s could not be read, so its reports are missing: %s", e.Node, health.English.Phrase(*e.Why()))
	}
	if len(l.interruptions) > 0 {
		note("the device went away or reports were lost %d times during the recording: learn again, that may hide the rule",
			len(l.interruptions))
	}
	if l.rejectedAsNoise > 0 && found == 0 {
		note("many bits of the reports turn all the time; some followed the marks, but no better than chance would:" +
			" learn again with more rounds")
	}
	for _, key := range l.fittingKeys {
		note("%s followed the marks, but is a key for the host: no rule is made of it."+
			" If the headset shows its state there, write the rule by hand", key)
	}
	if len(l.streams) == 0 {
		note("the device sent no report at all. Many headsets send their mute only in a call:" +
			" start one, in a program that supports the headset, and learn again." +
			" If it then sends nothing either, its mute never leaves the device;" +
			" see whether it moves the OS's own mute ('sidetone devices', os_endpoint_mute)")
		return out
	}
	for _, d := range l.devices {
		desc := hid.Describe(*d)
		if desc == nil {
			note("the report descriptor of %s makes no sense or could not be read: rules for bytes only were tried", d.Node)
			continue
		}
		if fields := new(catalogue.HIDUsage).Fields(desc); len(fields) > 0 && l.countReports(*d, fields) == 0 {
			note("%s declares Phone Mute, but sent no report with it. Many headsets do that only in a call: start one and learn again", d.Node)
		}
		if n := l.pressesOf(*d, desc.Find(descriptor.Input, pageConsumer, consumerMute)); n > 0 {
			note("%s sent Mute of the Consumer page (page 0c, usage e2) %d times: that key asks the host to mute its speaker."+
				" It is no hardware mute and tells nothing of the microphone", d.Node, n)
		}
	}
	return out
}

// noteKeys notes which keys for the host follow the marks. The speaker's mute has a note of its own.
func (l *analysis) noteKeys(c subset, at int, follow byte) {
	mask := follow & c.keys[at]
	if mask == 0 || len(c.when) > 0 {
		return
	}
	usage := c.declared(at, mask)
	key := fmt.Sprintf("%s: %s (%s)", c.name(), location(catalogue.ByteValue{Byte: at, Mask: new(catalogue.Byte(mask))}), usage)
	if usage != fmt.Sprintf("page %02x, usage %02x", pageConsumer, consumerMute) && !slices.Contains(l.fittingKeys, key) {
		l.fittingKeys = append(l.fittingKeys, key)
	}
}

// consumerMute is the usage of the speaker's mute (HID Usage Tables, section 15).
const consumerMute = 0xe2

// pressesOf counts how often one of the fields became 1.
func (l *analysis) pressesOf(d hid.Device, fields []descriptor.Field) int {
	n := 0
	for _, f := range fields {
		var was int32
		for _, s := range l.streams {
			if s.device.Node != d.Node {
				continue
			}
			for _, r := range s.reports {
				if v, ok := f.Value(r.data); ok {
					if v != 0 && was == 0 {
						n++
					}
					was = v
				}
			}
		}
	}
	return n
}
