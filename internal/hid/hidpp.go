package hid

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/devices"
)

// HID++ 2.0: a long report has a header of four bytes (report number, device index, feature index,
// function and software id) and 16 bytes of parameters.
const (
	hidppLong         = 0x11
	hidppShort        = 0x10 // of HID++ 1.0: receivers use it on behalf of devices that are not connected
	hidppLength       = 20
	hidppHeader       = 4
	hidppSoftware     = 0x0d // the software id of the first exchange of a Tracker, unless SetSoftwareID says otherwise
	maxSoftwareID     = 0x0f // events have 0
	hidpp20Error      = 0xff // in place of the feature index
	hidpp10Error      = 0x8f // the same in a short report
	hidppDisconnected = 0x40 // a receiver's notification, in a short report: the device has disconnected
	hidppConnected    = 0x41 // the same: it has connected, or is out of range
)

// hidpp is the script of a hidpp source: it looks up the feature's index, then reads the state.
type hidpp struct {
	PPFeature
	hidppState
	node string
	next func() byte // returns the software id of the next exchange
}

// hidppState is what a checkpoint stores of a hidpp source.
type hidppState struct {
	Index      byte `json:"place,omitempty"`       // of the feature on this device; 0: unknown
	LastIndex  byte `json:"was_place,omitempty"`   // the last known index
	Lacks      bool `json:"lacks,omitempty"`       // the device does not have the feature
	SoftwareID byte `json:"software_id,omitempty"` // of the last exchange
}

func (h *hidpp) has(step int) bool { return step == 0 || step == 1 && h.Read != nil && h.Index != 0 }

func (h *hidpp) request(step int) Request {
	report := make([]byte, hidppLength)
	if step == 0 { // getFeature of the root feature
		h.SoftwareID = h.next()
		h.forgetIndex()
		h.Lacks = false
		copy(report, []byte{hidppLong, h.Device, 0, h.SoftwareID, byte(h.Feature >> 8), byte(h.Feature)})
	} else {
		copy(report, []byte{hidppLong, h.Device, h.Index, byte(*h.Read)<<4 | h.SoftwareID})
	}
	return Request{Node: h.node, Output: report}
}

func (h *hidpp) forgetIndex() {
	h.LastIndex = cmp.Or(h.Index, h.LastIndex)
	h.Index = 0
}

func (h *hidpp) answer(step int, data []byte) (devices.Tri, bool) {
	if len(data) < hidppHeader+1 || data[0] != hidppLong && data[0] != hidppShort || data[1] != h.Device {
		return devices.Unknown, false
	}
	asked, function := byte(0), h.SoftwareID
	if step == 1 {
		asked, function = h.Index, byte(*h.Read)<<4|h.SoftwareID
	}
	switch {
	case data[0] == hidppShort:
		return devices.Unknown, data[2] == hidpp10Error && data[3] == asked && data[4] == function
	case data[2] == hidpp20Error && data[3] == asked && data[4] == function:
		return devices.Unknown, true
	case data[2] != asked || data[3] != function:
		return devices.Unknown, false
	case step == 0:
		h.Index = data[hidppHeader]
		h.Lacks = h.Index == 0
		return devices.Unknown, true
	}
	return h.value(data)
}

// statement decodes a state that the device sends without being asked by us: an event, or what it answers another program that reads
// the state or sets it. While the feature's index is being looked up again, a message with the old index may be one, so the state becomes
// unknown.
func (h *hidpp) statement(data []byte) (devices.Tri, bool) {
	index := cmp.Or(h.Index, h.LastIndex)
	if index == 0 || len(data) < hidppHeader || data[0] != hidppLong || data[1] != h.Device || data[2] != index {
		return devices.Unknown, false
	}
	function, program := int(data[3]>>4), data[3]&0x0f
	if !slices.Contains(h.Events, function) && (program == 0 || h.Read == nil || *h.Read != function) {
		return devices.Unknown, false
	}
	if h.Index == 0 {
		return devices.Unknown, true
	}
	return h.value(data)
}

// isNotice reports whether no program has asked for the message: it has no software id.
func (h *hidpp) isNotice(data []byte) bool { return len(data) >= hidppHeader && data[3]&0x0f == 0 }

// isSecondLookup reports whether a message answers the lookup of the index once more. Another program has then looked up a feature with the
// same software id, and one of the two indexes is that of its feature.
func (h *hidpp) isSecondLookup(data []byte) bool {
	return h.Index != 0 && len(data) > hidppHeader && data[0] == hidppLong && data[1] == h.Device && data[2] == 0 && data[3] == h.SoftwareID &&
		data[hidppHeader] != h.Index
}

// isBack reports whether an unsolicited message shows that a device which has not answered is connected again.
func (h *hidpp) isBack(data []byte, silent bool) bool {
	if h.Lacks || h.Index != 0 && !silent || len(data) < hidppHeader || data[1] != h.Device {
		return false
	}
	switch data[0] {
	case hidppLong:
		return data[2] != hidpp20Error && data[3]&0x0f == 0
	case hidppShort: // a notification
		return data[2] >= 0x40 && data[2] < 0x80
	}
	return false
}

// isConnectionNotice reports whether a receiver tells that the device has connected or disconnected, after which its state
// may differ.
func (h *hidpp) isConnectionNotice(data []byte) bool {
	return len(data) >= hidppHeader && data[0] == hidppShort && data[1] == h.Device &&
		(data[2] == hidppDisconnected || data[2] == hidppConnected)
}

func (h *hidpp) value(data []byte) (devices.Tri, bool) {
	return h.Value.decode(data[hidppHeader:])
}

func (h *hidpp) answeredByReport() bool { return true }

func (h *hidpp) fits([]byte) bool { return false } // an answer repeats the software id of its exchange

func (h *hidpp) pause(int) time.Duration { return 0 }

func (h *hidpp) isBusy(int, []byte) bool { return false }

func (h *hidpp) timeout() time.Duration { return h.Timeout }
