package catalogue

import (
	"math/bits"
	"strconv"

	"sidetone/internal/devices"
)

// muteValue checks that a rule for hardware_mute defines the meaning of every value: an unforeseen value must not show
// the user as muted, or as unmuted.
func (f *faults) muteValue(path string, v ByteValue, u usage) {
	const want = "on and off, both with the values that the device sends"
	switch {
	case u.field != devices.HardwareMute || v.isOneBit() || v.On != nil && v.Off != nil:
	case v.On != nil || v.Off != nil:
		f.addUnlessRecorded(path, want, "hardware_mute does not guess what other values mean")
	case v.Mask != nil && *v.Mask == 0: // reported elsewhere
	case v.Mask != nil:
		f.addUnlessRecorded(path, want, "the rule does not say which values mean muted")
	default:
		f.warn(path, want, "0 is not muted, 1 is muted, and every other value is unknown")
	}
}

// isOneBit reports whether the mask selects a single bit, so that there is no third value.
func (v ByteValue) isOneBit() bool { return v.Mask != nil && bits.OnesCount8(uint8(*v.Mask)) == 1 }

// start warns of a start state that will not apply when expected.
func (f *faults) start(path string, a Anchor, u usage) {
	if u.radio && a.LinkUp != nil && a.HIDReport == nil && a.HIDQuery == nil {
		f.warn(path+".link_up", "hid_report or hid_query",
			"a press that the radio loses, or while the headset is out of reach and the link is not reported as down, inverts the state")
	}
	switch {
	case a.Start == nil || u.field == linkField:
	case u.wireless:
		f.warn(path+".start", "hid_report or hid_query; or link_up, if its link goes down only when it is switched off",
			"it never applies: plugging in a dongle, or connecting over Bluetooth, does not switch the headset on")
	case u.radio:
		f.warn(path+".start", "hid_report or hid_query",
			"a headset that also has a wireless link has a battery: when its cable is plugged in it may have been on, and muted, for long")
	case u.link && a.LinkUp == nil && a.HIDReport == nil && a.HIDQuery == nil:
		f.warn(path+".start", "hid_report or hid_query; or link_up, if its link goes down only when it is switched off",
			"it does not apply when the link comes up: the state is then unknown")
	}
}

// muteRequest warns where a press is only a request: the host answers it by setting the mute lamp, which other programs
// may have changed since.
func (f *faults) muteRequest(path string, r HIDUsage) {
	if r.Kind != HIDToggle && (r.Anchor == nil || r.Kind != "" && r.Kind != HIDAuto) || !r.isRequest() {
		return
	}
	f.warn(path, "hid_query with last_output and poll_ms, if the device lets its mute lamp be read",
		"where programs answer a press by setting the mute lamp, a mute in another program inverts the state")
}

// isRequest reports whether a press may be a request to mute that programs answer, and no query reads the answer back:
// the case for Telephony's Phone Mute if it is a toggle.
func (r HIDUsage) isRequest() bool {
	is := func(digits string, n uint64) bool {
		v, err := strconv.ParseUint(digits, 16, 16)
		return digits == "" || err == nil && v == n
	}
	asked := r.Anchor != nil && r.Anchor.HIDQuery != nil && (r.Anchor.HIDQuery.PollMS != 0 || len(r.Anchor.HIDQuery.AskOn) > 0)
	return is(r.Page, 0x0b) && is(r.Usage, 0x2f) && !asked
}

// anyReport reports whether the rule applies to every report of the device.
func (r HIDReport) anyReport() bool { return r.ReportID == nil && len(r.When) == 0 }
