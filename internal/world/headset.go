package world

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform/audio/pulse"
)

// headset is a unit on the desk, with the state of its firmware.
type headset struct {
	unit
	*model
	index      int
	plugged    bool
	port       int
	presence   int  // how often it was plugged in
	on, near   bool // the headset behind a dongle; always true for others
	pressed    bool // the mute by the button
	boomUp     bool
	osMute     bool      // a mute that only the OS knows
	sound      bool      // the OS lists its endpoints
	carded     bool      // the sound server has its card
	sounded    bool      // it has had endpoints since it was plugged in
	card       uint32    // index of that
	came       time.Time // when it was plugged in
	devnum     int       // that the kernel gave its USB device when it was plugged in
	searching  bool      // its dongle was just plugged in, and has not found it yet
	noise      bool      // its noise suppression is on
	route      int       // what its echo canceller records, as in doRoute
	idleAfter  time.Time // when it is done with the requests so far
	id         string
	nodes      []*node
	reportedAt map[int]time.Time // when the agent was last told a state, by channel
	wrongSince time.Time         // since when it is wrongly reported as muted
	left       time.Time         // when it last went out of reach
	stuck      map[int]bool      // the last report of a channel was Busy
	turned     time.Time         // when the mute last changed
	validSince time.Time         // when the agent last had to forget everything it was told
}

// node is a HID interface of a headset that is plugged in.
type node struct {
	device hid.Device
	iface  int
	open   bool            // the agent reads it
	empty  time.Time       // when the agent last saw that nothing is queued
	since  time.Time       // when it had seen that before it read the last report
	held   int             // how many reports wait for the end of a stall
	failed bool            // reading it has failed, for now
	gone   bool            // for good
	denied bool            // reading it is no longer permitted
	unsent *reportedAnswer // the answer to the last question, of a model that answers late; nil: there is none
}

// node returns the node of an interface; nil: it has none now.
func (h *headset) node(iface int) *node {
	for _, n := range h.nodes {
		if n.iface == iface {
			return n
		}
	}
	return nil
}

func (h *headset) muted() bool { return h.pressed || h.Boom && h.boomUp }

// mutes reports whether the input with the id is muted.
func (h *headset) mutes(id string) bool { return h.muted() && !h.opens(id) }

// opens reports whether the id is that of a line-in that nothing mutes.
func (h *headset) opens(id string) bool { return h.Line == lineOpen && strings.HasPrefix(id, "line.") }

// up reports whether the headset is on and in range, and its dongle has found it.
func (h *headset) up() bool { return h.on && h.near && !h.searching }

func (h *headset) reachable() bool { return h.plugged && h.up() }

// state returns the present state of a subject.
func (h *headset) state(of subject) bool {
	switch of {
	case ofButton:
		return h.pressed
	case ofBoom:
		return h.boomUp
	case ofLink:
		return h.up()
	case ofNoise:
		return h.noise
	default:
		return h.muted()
	}
}

func (t channel) code(v bool) uint8 {
	if v {
		return t.On
	}
	return t.Off
}

// report returns an input report of the channel with the code.
func (t channel) report(code uint8) []byte {
	if t.Property != 0 {
		data := t.reportOf(t.Report, code)
		data[1] = t.Property
		return data
	}
	if t.Report == 0 {
		data := make([]byte, reportBytes)
		data[t.Byte] = code
		return data
	}
	return t.reportOf(t.Report, code)
}

// reportOf returns a report with that number and code.
func (t channel) reportOf(number, code uint8) []byte {
	data := make([]byte, 1+reportBytes)
	data[0], data[t.Byte] = number, code
	return data
}

// usage returns an input report of a Phone Mute.
func (t channel) usage(bits byte) []byte {
	if t.Report == 0 {
		return []byte{bits}
	}
	return []byte{t.Report, bits}
}

// container returns the hardware identity of a part of the headset: 1 HID, 2 sound.
func (h *headset) container(part int) string {
	switch {
	case h.Bus == bluetooth:
		return "bluetooth:" + h.address()
	case h.Split:
		return fmt.Sprintf("usb:1-%d.%d", h.port, part)
	default:
		return fmt.Sprintf("usb:1-%d", h.port)
	}
}

func (h *headset) address() string { return fmt.Sprintf("00:11:22:33:44:%02x", h.index) }

func (h *headset) serial() string {
	if h.Bus == bluetooth {
		return h.address()
	}
	return h.Serial
}

func (h *headset) bus() devices.Bus {
	if h.Bus == bluetooth {
		return devices.Bluetooth
	}
	return devices.USB
}

// endpoints returns the endpoints that the OS lists.
func (h *headset) endpoints() []devices.Endpoint {
	if !h.plugged || !h.sound {
		return nil
	}
	mic := devices.Endpoint{
		Source: "audio", ID: "in." + h.id, Type: devices.AudioInput, Name: h.name(h.Model), Bus: h.bus(), VID: vid, PID: pid(h.Model),
		Serial: h.serial(), Container: h.container(2),
	}
	if h.NoContainer {
		mic.Container = ""
	}
	speaker := mic
	speaker.ID, speaker.Type = "out."+h.id, devices.AudioOutput
	switch h.OSMute {
	case osSoft:
		mic.Mute = devices.Of(h.osMute)
	case osShared:
		mic.Mute = devices.Of(h.muted())
	}
	mic.MuteInHardware = h.Flagged
	for _, t := range h.Channels {
		if t.Form == formALSA {
			mic.Mixer, mic.Controls = "controlC1", map[string]devices.Tri{alsaControl: devices.Of(!h.state(t.Of))}
		}
	}
	out := []devices.Endpoint{mic, speaker}
	if h.Line != lineNone {
		line := mic
		line.ID, line.Name, line.Mute = "line."+h.id, "Line-In of "+mic.Name, devices.Unknown
		if h.OSMute != osNone {
			line.Mute = devices.Of(h.OSMute == osShared && h.Line == lineMuted && h.muted())
		}
		out = append(out, line)
	}
	if h.Filtered {
		out = append(out, devices.Endpoint{
			Source: "audio", ID: "echo." + h.id, Type: devices.AudioInput, Name: "Echo-cancelled", Virtual: true,
			Master: []string{mic.ID, "", builtIn}[h.route],
		})
	}
	return out
}

// builtIn is the machine's own microphone.
const builtIn = "in.builtin"

// cardsOf returns the headset's sound card, which stays while its endpoints come and go. The server counts its cards as it finds them.
func (d *desk) cardsOf(h *headset) []devices.Hardware {
	if !h.plugged || h.NoAudio || h.CardLate && !h.sounded {
		return nil
	}
	if !h.carded {
		h.carded, h.card = true, uint32(d.cards)
		d.cards++
	}
	usb := ""
	if h.Bus != bluetooth {
		usb = fmt.Sprintf("%s#%d", h.container(2), h.devnum)
	}
	card := devices.Hardware{
		Source: "audio", ID: pulse.Card{Index: h.card}.Presence(usb, d.servers), Sound: true, Bus: h.bus(), VID: vid, PID: pid(h.Model),
		Serial: h.serial(), Container: h.container(2),
	}
	if h.NoContainer {
		card.Container = ""
	}
	return []devices.Hardware{card}
}

const alsaControl = "Mic Capture Switch"

// mutesInOS reports whether its endpoint in the OS shows the mute.
func (h *headset) mutesInOS() bool {
	return h.OSMute == osShared || slices.ContainsFunc(h.Channels, func(t channel) bool { return t.Form == formALSA })
}
