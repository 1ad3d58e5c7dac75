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

// hidpp is the script of a hidpp source: it looks up the feature's index, of Centurion behind that of the bridge, then reads the state.
type hidpp struct {
	PPFeature
	hidppState
	framing framing
	node    string
	next    func() byte // returns the software id of the next exchange
}

// hidppState is what a checkpoint stores of a hidpp source.
type hidppState struct {
	Index      byte `json:"place,omitempty"`       // of the feature on this device; 0: unknown
	LastIndex  byte `json:"was_place,omitempty"`   // the last known index
	Bridge     byte `json:"bridge,omitempty"`      // of Centurion: index of the dongle's bridge to the headset; 0: unknown
	Lacks      bool `json:"lacks,omitempty"`       // the device does not have the feature
	SoftwareID byte `json:"software_id,omitempty"` // of the last exchange
}

// ppMessage is a message of a feature.
type ppMessage struct {
	bridged  bool // of Centurion: it is the headset's, not the dongle's
	event    bool // of Centurion: it answers nobody
	failed   bool // it answers a request that has failed
	feature  byte // index of the feature; of a failure: that was asked
	function byte // number of the function or event, and software id; of a failure: that was asked
	data     []byte
}

// framing is how messages are packed into reports.
type framing interface {
	// pack returns the report of a request.
	pack(m ppMessage, bridge byte) []byte
	// unpack returns the message in a report; false: there is none that can be attributed.
	unpack(report []byte, bridge byte) (ppMessage, bool)
}

// longReports is the framing of HID++ 2.0 itself.
type longReports struct{ device byte }

func (l longReports) pack(m ppMessage, _ byte) []byte {
	report := make([]byte, hidppLength)
	copy(report, append([]byte{hidppLong, l.device, m.feature, m.function}, m.data...))
	return report
}

func (l longReports) unpack(report []byte, _ byte) (ppMessage, bool) {
	switch {
	case len(report) < hidppHeader+1 || report[1] != l.device:
	case report[0] == hidppShort:
		return ppMessage{failed: true, feature: report[3], function: report[4]}, report[2] == hidpp10Error
	case report[0] == hidppLong && report[2] == hidpp20Error:
		return ppMessage{failed: true, feature: report[3], function: report[4]}, true
	case report[0] == hidppLong:
		return ppMessage{feature: report[2], function: report[3], data: report[hidppHeader:]}, true
	}
	return ppMessage{}, false
}

// lookups returns how many steps look up an index.
func (h *hidpp) lookups() int {
	if h.Centurion {
		return 2
	}
	return 1
}

func (h *hidpp) has(step int) bool {
	switch {
	case step == 0:
		return true
	case step < h.lookups():
		return h.Bridge != 0
	}
	return step == h.lookups() && h.Read != nil && h.Index != 0
}

// asked returns the request of a step as a message.
func (h *hidpp) asked(step int) ppMessage {
	m := ppMessage{function: h.SoftwareID, bridged: h.Centurion && step > 0}
	switch {
	case step == h.lookups():
		m.feature, m.function = h.Index, byte(*h.Read)<<4|h.SoftwareID
	case step == 0 && h.Centurion:
		m.data = []byte{bridgeFeature >> 8, bridgeFeature & 0xff} // for getFeature of the root feature
	default:
		m.data = []byte{byte(h.Feature >> 8), byte(h.Feature)}
	}
	return m
}

func (h *hidpp) request(step int) Request {
	if step == 0 {
		h.SoftwareID = h.next()
		h.forgetIndex()
		h.Lacks = false
	}
	return Request{Node: h.node, Output: h.framing.pack(h.asked(step), h.Bridge)}
}

func (h *hidpp) forgetIndex() {
	h.LastIndex = cmp.Or(h.Index, h.LastIndex)
	h.Index = 0
}

func (h *hidpp) answer(step int, report []byte) (devices.Tri, bool) {
	m, ok := h.framing.unpack(report, h.Bridge)
	asked := h.asked(step)
	refused := m.failed && asked.bridged && !m.bridged && m.feature == h.Bridge && m.function == bridgeSend|h.SoftwareID // by the dongle
	switch {
	case !ok || m.event:
		return devices.Unknown, false
	case refused:
		return devices.Unknown, true
	case m.bridged != asked.bridged || m.feature != asked.feature || m.function != asked.function:
		return devices.Unknown, false
	case m.failed:
		return devices.Unknown, true
	case step == h.lookups():
		return h.Value.decode(m.data)
	case len(m.data) == 0:
		return devices.Unknown, false
	case step == h.lookups()-1:
		h.Index = m.data[0]
	default:
		h.Bridge = m.data[0]
	}
	h.Lacks = m.data[0] == 0
	return devices.Unknown, true
}

// statement decodes a state that the device sends without being asked by us: an event, or what it answers another program that reads
// the state or sets it. While the feature's index is being looked up again, a message with the old index may be one, so the state becomes
// unknown.
func (h *hidpp) statement(report []byte) (devices.Tri, bool) {
	index := cmp.Or(h.Index, h.LastIndex)
	m, ok := h.framing.unpack(report, h.Bridge)
	if !ok || index == 0 || m.failed || m.bridged != h.Centurion || m.feature != index {
		return devices.Unknown, false
	}
	function, program := int(m.function>>4), m.function&0x0f
	told := slices.Contains(h.Events, function) && m.event == h.Centurion
	if !told && (m.event || program == 0 || h.Read == nil || *h.Read != function) {
		return devices.Unknown, false
	}
	if h.Index == 0 {
		return devices.Unknown, true
	}
	return h.Value.decode(m.data)
}

// isNotice reports whether no program has asked for the message: it has no software id.
func (h *hidpp) isNotice(report []byte) bool {
	m, ok := h.framing.unpack(report, h.Bridge)
	return ok && m.function&0x0f == 0 && m.event == h.Centurion
}

// isSecondLookup reports whether a message answers the lookup of the index once more. Another program has then looked up a feature with the
// same software id, and one of the two indexes is that of its feature.
func (h *hidpp) isSecondLookup(report []byte) bool {
	m, ok := h.framing.unpack(report, h.Bridge)
	index := h.Index
	if h.Centurion && !m.bridged {
		index = h.Bridge
	}
	return ok && h.Index != 0 && !m.failed && !m.event && m.feature == 0 && m.function == h.SoftwareID && len(m.data) > 0 && m.data[0] != index
}

// isBack reports whether an unsolicited message shows that a device which has not answered is connected again.
func (h *hidpp) isBack(data []byte, silent bool) bool {
	if h.Lacks || h.Index != 0 && !silent || len(data) < hidppHeader {
		return false
	}
	if h.Centurion {
		m, ok := h.framing.unpack(data, h.Bridge)
		return ok && m.event
	}
	if data[1] != h.Device {
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
	if h.Centurion {
		m, ok := h.framing.unpack(data, h.Bridge)
		return ok && !m.bridged && !m.failed && h.Bridge != 0 && m.feature == h.Bridge && m.function == bridgeConnection
	}
	return len(data) >= hidppHeader && data[0] == hidppShort && data[1] == h.Device &&
		(data[2] == hidppDisconnected || data[2] == hidppConnected)
}

func (h *hidpp) answered(int) answered { return byReport }

func (h *hidpp) pause(int) time.Duration { return 0 }

func (h *hidpp) isBusy(int, []byte) bool { return false }

func (h *hidpp) timeout() time.Duration { return h.Timeout }
