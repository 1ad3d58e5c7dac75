package hid

import (
	"cmp"
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
	hidppSoftware     = 0x0d // our software id: any but 0, which events have
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
}

// hidppState is what a checkpoint stores of a hidpp source.
type hidppState struct {
	Index     byte `json:"place,omitempty"`     // of the feature on this device; 0: unknown
	LastIndex byte `json:"was_place,omitempty"` // the last known index
	Lacks     bool `json:"lacks,omitempty"`     // the device does not have the feature
}

func (h *hidpp) request(step int) (Request, bool) {
	report := make([]byte, hidppLength)
	switch {
	case step == 0: // getFeature of the root feature
		h.LastIndex = cmp.Or(h.Index, h.LastIndex)
		h.Index, h.Lacks = 0, false
		copy(report, []byte{hidppLong, h.Device, 0, hidppSoftware, byte(h.Feature >> 8), byte(h.Feature)})
	case step == 1 && h.Read != nil && h.Index != 0:
		copy(report, []byte{hidppLong, h.Device, h.Index, byte(*h.Read)<<4 | hidppSoftware})
	default:
		return Request{}, false
	}
	return Request{Node: h.node, Output: report}, true
}

func (h *hidpp) answer(step int, data []byte) (devices.Tri, bool) {
	if len(data) < hidppHeader+1 || data[0] != hidppLong && data[0] != hidppShort || data[1] != h.Device {
		return devices.Unknown, false
	}
	asked, function := byte(0), byte(hidppSoftware)
	if step == 1 {
		asked, function = h.Index, byte(*h.Read)<<4|hidppSoftware
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

// event decodes a state that the device sends by itself. While the feature's index is being looked up
// again, a message with the old index may be such an event, so the state becomes unknown.
func (h *hidpp) event(data []byte) (devices.Tri, bool) {
	index := cmp.Or(h.Index, h.LastIndex)
	if h.Event == nil || index == 0 || len(data) < hidppHeader {
		return devices.Unknown, false
	}
	if data[0] != hidppLong || data[1] != h.Device || data[2] != index || data[3] != byte(*h.Event)<<4 {
		return devices.Unknown, false
	}
	if h.Index == 0 {
		return devices.Unknown, true
	}
	return h.value(data)
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

func (h *hidpp) pause(int) time.Duration { return 0 }

func (h *hidpp) isBusy(int, []byte) bool { return false }

func (h *hidpp) timeout() time.Duration { return h.Timeout }
