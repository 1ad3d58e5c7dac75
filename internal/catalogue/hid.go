package catalogue

import (
	"fmt"
	"iter"
	"slices"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// HIDKind is how a HID control or report relates to a state.
type HIDKind string

// The kinds of control.
const (
	HIDAuto    HIDKind = "auto"    // what the report descriptor says
	HIDLevel   HIDKind = "level"   // it shows the state
	HIDToggle  HIDKind = "toggle"  // it flips the state
	HIDButtons HIDKind = "buttons" // one button switches on, another off
)

// Enum lists the names that a file may use.
func (HIDKind) Enum() []string {
	return devices.Names([]HIDKind{HIDAuto, HIDLevel, HIDToggle, HIDButtons})
}

// HIDUsage takes a state from a usage that the device's report descriptor declares.
type HIDUsage struct {
	Interface  *int    `json:"interface,omitempty" yaml:"interface,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"Number of the USB interface. All HID interfaces of the device if left out."`
	Kind       HIDKind `json:"kind,omitempty" yaml:"kind,omitempty" jsonschema_description:"auto (default): as the descriptor declares it, if it is one of the three legal forms. level, toggle, buttons: what the device really does."`
	Page       string  `json:"page,omitempty" yaml:"page,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{1\\,4}$" jsonschema_description:"Usage page in hex, quoted. 0b (Telephony) if left out."`
	Usage      string  `json:"usage,omitempty" yaml:"usage,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{1\\,4}$" jsonschema_description:"Usage in hex, quoted. 2f (Phone Mute) if left out."`
	Invert     bool    `json:"invert,omitempty" yaml:"invert,omitempty" jsonschema_description:"true: 1 means false."`
	DebounceMS int     `json:"debounce_ms,omitempty" yaml:"debounce_ms,omitempty" jsonschema:"minimum=0,maximum=5000" jsonschema_description:"A toggle: a press this soon after the previous one does not count. A level: a new value counts when it has lasted this long."`
	Anchor     *Anchor `json:"anchor,omitempty" yaml:"anchor,omitempty" jsonschema_description:"Where a toggle's starting state comes from. Without it a toggle is never known."`

	// Of a state that is read on request; the product then needs allow_write.
	Read       HIDReadKind `json:"read,omitempty" yaml:"read,omitempty" jsonschema_description:"feature, input or output: the state is a field of a report of this kind, which is read on request; of an output report, what programs have set last (Linux 5.11 or later). Needs the product's allow_write."`
	On         []Byte      `json:"on,omitempty" yaml:"on,omitempty" jsonschema_description:"With read: the values of the field that mean true. 1 if left out."`
	Off        []Byte      `json:"off,omitempty" yaml:"off,omitempty" jsonschema_description:"With read: the values of the field that mean false. 0 if left out."`
	AskOnUsage Usages      `json:"ask_on_usage,omitempty" yaml:"ask_on_usage,omitempty" jsonschema_description:"With read: usages in hex, quoted, of the page, or of another one in front of them (0b:2f). An input report with one of them says that the state may have changed."`
	DelayMS    int         `json:"delay_ms,omitempty" yaml:"delay_ms,omitempty" jsonschema:"minimum=1,maximum=5000" jsonschema_description:"With read: how long to wait before the report is read."`
	PollMS     int         `json:"poll_ms,omitempty" yaml:"poll_ms,omitempty" jsonschema:"minimum=1000,maximum=60000" jsonschema_description:"With read: read again this long after the last answer, while the product is connected: at least 2000, or 1000 with read: output. It wakes up the computer each time, and the state may be outdated for so long."`
	TimeoutMS  int         `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty" jsonschema:"minimum=10,maximum=10000" jsonschema_description:"With read: how long to wait for the answer. 1000 if left out."`
}

// HIDReadKind is a kind of report that is read on request.
type HIDReadKind string

// The kinds of report that can be read on request.
const (
	HIDReadFeature HIDReadKind = "feature"
	HIDReadInput   HIDReadKind = "input"
	HIDReadOutput  HIDReadKind = "output" // what programs have set last
)

// Enum lists the names that a file may use.
func (HIDReadKind) Enum() []string {
	return devices.Names([]HIDReadKind{HIDReadFeature, HIDReadInput, HIDReadOutput})
}

// HIDReport takes a state from bytes of an input report. Bytes count from 0 in the report as the
// OS delivers it: byte 0 is the report's number on a device that numbers its reports.
type HIDReport struct {
	Interface  *int       `json:"interface,omitempty" yaml:"interface,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"Number of the USB interface. All HID interfaces of the device if left out."`
	Kind       HIDKind    `json:"kind,omitempty" yaml:"kind,omitempty" jsonschema_description:"level (default) or toggle."`
	ReportID   *Byte      `json:"report_id,omitempty" yaml:"report_id,omitempty" jsonschema_description:"Number of the report, as byte 0 has it. Leave out if reports have none."`
	When       []ByteTest `json:"when,omitempty" yaml:"when,omitempty" jsonschema_description:"Conditions that the report must meet for the rule to look at it."`
	Value      *ByteValue `json:"value,omitempty" yaml:"value,omitempty" jsonschema_description:"Where the state is in the report. A toggle without it counts every report; with it, each change from false to true."`
	DebounceMS int        `json:"debounce_ms,omitempty" yaml:"debounce_ms,omitempty" jsonschema:"minimum=0,maximum=5000" jsonschema_description:"A toggle: a press this soon after the previous one does not count. A level: a new value counts when it has lasted this long."`
	MaxAgeMS   int        `json:"max_age_ms,omitempty" yaml:"max_age_ms,omitempty" jsonschema:"minimum=100,maximum=600000" jsonschema_description:"For a level that is sent again and again, as in the answers to another program's polling: it is unknown when it was not repeated for this long."`
	Anchor     *Anchor    `json:"anchor,omitempty" yaml:"anchor,omitempty" jsonschema_description:"Where a toggle's starting state comes from. A toggle must have one."`
}

// Anchor gives a toggle its absolute state, which presses alone do not tell. After a resume from sleep,
// lost reports or a new connection the toggle is unknown until its anchor tells the state again.
type Anchor struct {
	Start     *bool      `json:"start,omitempty" yaml:"start,omitempty" jsonschema_description:"The state that the device's firmware always takes when it is plugged in. It does not count for a link of kind dongle or bluetooth, whose headset may be on before the link is."`
	LinkUp    *bool      `json:"link_up,omitempty" yaml:"link_up,omitempty" jsonschema_description:"The state that the firmware always takes when link_state becomes true after false: only for a headset that was then always just switched on. One that was out of range comes back as it was."`
	HIDReport *HIDReport `json:"hid_report,omitempty" yaml:"hid_report,omitempty" jsonschema_description:"Another report of the device that shows the state, on any of its interfaces."`
	HIDQuery  *HIDQuery  `json:"hid_query,omitempty" yaml:"hid_query,omitempty" jsonschema_description:"The device's answer to a request, on any of its interfaces. Needs the product's allow_write."`
}

// ByteTest is a condition on one byte of a report. A report that is too short does not meet it.
type ByteTest struct {
	Byte int    `json:"byte" yaml:"byte" jsonschema:"minimum=0,maximum=8191" jsonschema_description:"Which byte, from 0."`
	Mask *Byte  `json:"mask,omitempty" yaml:"mask,omitempty" jsonschema_description:"Which bits of it count. All if left out."`
	Eq   *Byte  `json:"eq,omitempty" yaml:"eq,omitempty" jsonschema_description:"The masked byte is this."`
	In   []Byte `json:"in,omitempty" yaml:"in,omitempty" jsonschema_description:"The masked byte is one of these."`
	Min  *Byte  `json:"min,omitempty" yaml:"min,omitempty" jsonschema_description:"The masked byte is at least this."`
	Max  *Byte  `json:"max,omitempty" yaml:"max,omitempty" jsonschema_description:"The masked byte is at most this."`
}

// ByteValue decodes a state from one byte. With On alone all other values are false, with Off alone
// true, with both unknown. With neither, zero is false and all else true. For hardware_mute only listed
// values are known, and with neither list 0 is false and 1 is true, unless the mask selects a single bit.
type ByteValue struct {
	Byte   int    `json:"byte" yaml:"byte" jsonschema:"minimum=0,maximum=8191" jsonschema_description:"Which byte, from 0."`
	Mask   *Byte  `json:"mask,omitempty" yaml:"mask,omitempty" jsonschema_description:"Which bits of it count. All if left out."`
	On     []Byte `json:"on,omitempty" yaml:"on,omitempty" jsonschema_description:"The values of the masked byte that mean true."`
	Off    []Byte `json:"off,omitempty" yaml:"off,omitempty" jsonschema_description:"The values of the masked byte that mean false."`
	Invert bool   `json:"invert,omitempty" yaml:"invert,omitempty" jsonschema_description:"true: inverts the meaning."`

	Valid []ByteTest `json:"valid,omitempty" yaml:"valid,omitempty" jsonschema_description:"Conditions on the same report or answer. If one is not met, the state is unknown, whatever it was before. Not for a toggle."`
}

// HIDQuery takes a state from the device's answer to a request. It writes to the device, so the
// product needs allow_write. Exactly one of Output, Feature, Input, LastOutput and Steps is set.
type HIDQuery struct {
	Interface  *int         `json:"interface,omitempty" yaml:"interface,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"Number of the USB interface. All HID interfaces of the device if left out."`
	Output     []hid.Bytes  `json:"output,omitempty" yaml:"output,omitempty" jsonschema_description:"Output reports to send, each after the answer to the previous one: hex digits, the report's number first (00 if reports have none). They are padded with zeros to the report's length."`
	Feature    hid.Bytes    `json:"feature,omitempty" yaml:"feature,omitempty" jsonschema_description:"Feature report to read: its number in hex (00 if reports have none). If more bytes follow, it is set to them first."`
	Input      hid.Bytes    `json:"input,omitempty" yaml:"input,omitempty" jsonschema_description:"Number in hex of an input report to read on request, and not only when it arrives (00 if reports have none)."`
	LastOutput hid.Bytes    `json:"last_output,omitempty" yaml:"last_output,omitempty" jsonschema_description:"Number in hex of an output report to read back (00 if reports have none): what programs have set last, such as the mute lamp. Linux 5.11 or later."`
	Steps      []HIDStep    `json:"steps,omitempty" yaml:"steps,omitempty" jsonschema_description:"Requests that are made one after the other, where one of the four above is not enough. The answer to the last one has the state."`
	Expect     []ByteTest   `json:"expect,omitempty" yaml:"expect,omitempty" jsonschema_description:"Conditions that distinguish the answer to the last request from other reports."`
	Value      ByteValue    `json:"value" yaml:"value" jsonschema_description:"Where the state is in the answer. Byte 0 of a feature report is its number, 00 if reports have none."`
	At         []hid.Moment `json:"at,omitempty" yaml:"at,omitempty" jsonschema_description:"When to ask: attach, when the device is first seen; resume, after sleep or when reports were lost; link_up, when link_state has become true. At all of them if left out."`
	AskOn      []ByteTest   `json:"ask_on,omitempty" yaml:"ask_on,omitempty" jsonschema_description:"Conditions for a report of the same HID interface that says that the state may have changed: the device is then asked again, at most five times a second."`
	RetryOn    []ByteTest   `json:"retry_on,omitempty" yaml:"retry_on,omitempty" jsonschema_description:"Conditions for an answer that says that the device is not ready yet: the report is read once more after delay_ms, until timeout_ms is over."`
	DelayMS    int          `json:"delay_ms,omitempty" yaml:"delay_ms,omitempty" jsonschema:"minimum=1,maximum=5000" jsonschema_description:"How long to wait before a report is read: after a feature report was set, after the report that triggered the question, and before it is read once more."`
	PollMS     int          `json:"poll_ms,omitempty" yaml:"poll_ms,omitempty" jsonschema:"minimum=1000,maximum=60000" jsonschema_description:"Ask again this long after the last answer, while the product is connected: at least 2000, or 1000 with last_output. It wakes up the computer each time, and the state may be outdated for so long."`
	TimeoutMS  int          `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty" jsonschema:"minimum=10,maximum=10000" jsonschema_description:"How long to wait for each answer. 1000 if left out."`
}

// HIDStep is one request of a query. Exactly one of Output, SetFeature, ReadFeature and ReadInput is set.
type HIDStep struct {
	Output      hid.Bytes  `json:"output,omitempty" yaml:"output,omitempty" jsonschema_description:"Output report to send: hex digits, its number first (00 if reports have none). It is padded with zeros to its length."`
	SetFeature  hid.Bytes  `json:"set_feature,omitempty" yaml:"set_feature,omitempty" jsonschema_description:"Feature report to set, likewise."`
	ReadFeature hid.Bytes  `json:"read_feature,omitempty" yaml:"read_feature,omitempty" jsonschema_description:"Number in hex of a feature report to read."`
	ReadInput   hid.Bytes  `json:"read_input,omitempty" yaml:"read_input,omitempty" jsonschema_description:"Number in hex of an input report to read on request."`
	Expect      []ByteTest `json:"expect,omitempty" yaml:"expect,omitempty" jsonschema_description:"Conditions on the answer. With output and set_feature it is an input report that arrives; without expect none is waited for."`
	RetryOn     []ByteTest `json:"retry_on,omitempty" yaml:"retry_on,omitempty" jsonschema_description:"Conditions for an answer that says that the device is not ready yet: the request is made once more after pause_ms, until timeout_ms is over."`
	PauseMS     int        `json:"pause_ms,omitempty" yaml:"pause_ms,omitempty" jsonschema:"minimum=1,maximum=5000" jsonschema_description:"How long to wait before this request, and before it is repeated."`
}

// HIDPPFraming is how messages of HID++ 2.0 are packed into reports.
type HIDPPFraming string

// HIDPPCenturion is the framing of headsets behind the bridge of a dongle, instead of HID++'s long reports.
const HIDPPCenturion HIDPPFraming = "centurion"

// Enum lists the names that a file may use.
func (HIDPPFraming) Enum() []string { return devices.Names([]HIDPPFraming{HIDPPCenturion}) }

// HIDPP takes a state from a feature of HID++ 2.0, whose index each device reports on request.
type HIDPP struct {
	Framing     HIDPPFraming `json:"framing,omitempty" yaml:"framing,omitempty" jsonschema_description:"centurion: the headset is behind the bridge of its dongle, in reports 0x50 or 0x51. HID++'s long report, 0x11, if left out."`
	Interface   *int         `json:"interface,omitempty" yaml:"interface,omitempty" jsonschema:"minimum=0,maximum=255" jsonschema_description:"Number of the USB interface. If left out, the interfaces that have the reports of the framing."`
	DeviceIndex *Byte        `json:"device_index,omitempty" yaml:"device_index,omitempty" jsonschema_description:"Which device behind a receiver: 1 to 6. 0xff, the device itself, if left out. With centurion: the byte after the number of report 0x50, 0x23 if left out."`
	Feature     string       `json:"feature" yaml:"feature" jsonschema:"pattern=^[0-9a-fA-F]{4}$" jsonschema_description:"Feature id, four hex digits, quoted."`
	Read        *int         `json:"read,omitempty" yaml:"read,omitempty" jsonschema:"minimum=0,maximum=15" jsonschema_description:"Number of the function that returns the state. It is called at attach, resume and link_up."`
	Event       Events       `json:"event,omitempty" yaml:"event,omitempty" jsonschema_description:"Number of the event that reports a new state, or a list of them. Answers to other programs with the same number count, too."`
	AskOn       []ByteTest   `json:"ask_on,omitempty" yaml:"ask_on,omitempty" jsonschema_description:"Conditions for a report of the same HID interface that says that the state may have changed, or that the headset is back: the device is then asked again, at most five times a second."`
	Value       ByteValue    `json:"value" yaml:"value" jsonschema_description:"Where the state is in the parameters; byte 0 is the first of them."`
	TimeoutMS   int          `json:"timeout_ms,omitempty" yaml:"timeout_ms,omitempty" jsonschema:"minimum=10,maximum=10000" jsonschema_description:"How long to wait for each answer. 1000 if left out."`
}

// Derive combines several states into one: exactly one of its fields is set.
type Derive struct {
	Or  []SourceKind `json:"or,omitempty" yaml:"or,omitempty" jsonschema_description:"True if one is true, false if all are false, else unknown."`
	And []SourceKind `json:"and,omitempty" yaml:"and,omitempty" jsonschema_description:"False if one is false, true if all are true, else unknown."`
}

// Terms yields the sources that d combines, with their paths below at.
func (d Derive) Terms(at string) iter.Seq2[string, SourceKind] {
	return func(yield func(string, SourceKind) bool) {
		operator := "and"
		if d.Or != nil {
			operator = "or"
		}
		for i, k := range slices.Concat(d.Or, d.And) {
			if !yield(fmt.Sprintf("%s.derive.%s[%d]", at, operator, i), k) {
				return
			}
		}
	}
}
