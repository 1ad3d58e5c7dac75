package hid

import (
	"slices"

	"sidetone/internal/hid/descriptor"
)

// Centurion carries HID++ through the bridge of a dongle. A report has its number, the address of the device if that number is 0x50, the
// length of the rest, flags, and a message: index of a feature of the dongle, function and software id, parameters. The bridge is such a
// feature. What it sends to the headset, and what the headset sends, are its parameters: four bits with the number of the headset, the size
// in twelve bits, a byte that tells answers from events, and a message as above, with a feature of the headset.
const (
	centurionAddressed = 0x50
	centurionPlain     = 0x51
	centurionBytes     = 64 // with the report's number
	bridgeFeature      = 0x0003
	bridgeSend         = 0x10 // function of the bridge, without the software id; the event with what the headset sends has the same number
	bridgeConnection   = 0x00 // event of the bridge: the headset has connected or disconnected
	subAnswer          = 0x00 // also of a request
	subEvent           = 0xff
)

// centurion is this framing.
type centurion struct {
	start []byte // of each report
}

// newCenturion returns the framing for the reports that a device declares; false: it has none.
func newCenturion(desc *descriptor.Descriptor, address byte) (c centurion, ok bool) {
	for _, c := range []centurion{{[]byte{centurionPlain}}, {[]byte{centurionAddressed, address}}} {
		if desc != nil && desc.Length(descriptor.Input, c.start[0]) > 0 && desc.Length(descriptor.Output, c.start[0]) > 0 {
			return c, true
		}
	}
	return centurion{}, false
}

func (c centurion) pack(m ppMessage, bridge byte) []byte {
	message := append([]byte{m.feature, m.function}, m.data...)
	if m.bridged {
		message = slices.Concat([]byte{bridge, bridgeSend | m.function&0x0f, 0, byte(len(message) + 1), subAnswer}, message)
	}
	report := make([]byte, centurionBytes)
	copy(report, slices.Concat(c.start, []byte{byte(len(message) + 1), 0}, message))
	return report
}

// unpack takes whole messages only, and of the headset with the number 0, which is the only one that is known.
func (c centurion) unpack(report []byte, bridge byte) (m ppMessage, ok bool) {
	if len(report) < len(c.start)+4 || !slices.Equal(report[:len(c.start)], c.start) {
		return ppMessage{}, false
	}
	length, flags, message := int(report[len(c.start)]), report[len(c.start)+1], report[len(c.start)+2:]
	if flags != 0 {
		return ppMessage{}, false // a part of a longer one
	}
	if bridge != 0 && message[0] == bridge && message[1] == bridgeSend {
		return unbridge(message[2:])
	}
	if length < 3 || length-1 > len(message) {
		return ppMessage{}, false
	}
	return messageOf(message[:length-1])
}

// unbridge returns the message that the headset has sent. Its own size counts, not that of the report around it.
func unbridge(data []byte) (m ppMessage, ok bool) {
	if len(data) < 3 || data[0] != 0 || int(data[1]) > len(data)-2 || data[1] < 3 || data[2] != subAnswer && data[2] != subEvent {
		return ppMessage{}, false
	}
	m, ok = messageOf(data[3 : 2+int(data[1])])
	m.bridged, m.event = true, data[2] == subEvent
	return m, ok
}

// messageOf returns a message of at least two bytes.
func messageOf(data []byte) (m ppMessage, ok bool) {
	if data[0] != hidpp20Error {
		return ppMessage{feature: data[0], function: data[1], data: data[2:]}, true
	}
	if len(data) < 3 {
		return ppMessage{}, false
	}
	return ppMessage{failed: true, feature: data[1], function: data[2]}, true
}
