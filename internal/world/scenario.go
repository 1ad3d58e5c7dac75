// Package world is a desk in virtual time: headsets with a true mute, their vendor's catalogue and
// software, the OS between, and the agent's own code fed through its real inputs. A scenario is data,
// drawn from a seed; a run of it returns what must never be. docs/world.md says what is guaranteed,
// and which liberties the world takes.
package world

import (
	"fmt"
	"strings"
)

// Scenario is all that a run depends on. Without models there is no Engine: the lists that clients are to get come from steps.
type Scenario struct {
	Seed   uint64  `json:"seed"` // of latencies; the seed that it was drawn from
	Models []Model `json:"models,omitempty"`
	Units  []Unit  `json:"units,omitempty"`
	Suites []Suite `json:"suites,omitempty"`

	Clients   []ClientSpec `json:"clients,omitempty"`
	Reporting Reporting    `json:"reporting,omitzero"`
	Long      bool         `json:"long,omitempty"` // without models: the lists are longer than what a client reads ahead

	Steps []Step `json:"steps"`
}

// Bus is how a model is attached.
type Bus string

// The ways to attach a model. A dongle is USB and stays while the headset behind it comes and goes.
const (
	USB       Bus = "usb"
	Dongle    Bus = "dongle"
	Bluetooth Bus = "bluetooth"
)

// Model is what the firmware of a headset does, and what its vendor says of it.
type Model struct {
	Bus       Bus       `json:"bus"`
	Keeps     bool      `json:"keeps,omitempty"`     // the mute outlasts power-off and unplugging; else it begins as false
	ResetsUp  bool      `json:"resets_up,omitempty"` // the mute is off whenever the link comes up
	Boom      bool      `json:"boom,omitempty"`      // a boom mutes beside the button
	OSMute    OSMute    `json:"os_mute,omitempty"`   // what the OS's mute does
	Flagged   bool      `json:"flagged,omitempty"`   // the OS says that its mute is a switch in the device
	NamedIDs  bool      `json:"named_ids,omitempty"` // the list names endpoints as the OS shows them, equal for all units
	Split     bool      `json:"split,omitempty"`     // HID and sound are two USB devices with one serial number
	Unsighted bool      `json:"unsighted,omitempty"` // its endpoints have no hardware identity but the serial number
	Channels  []Channel `json:"channels"`            // how it tells states
	Noise     []int     `json:"noise,omitempty"`     // reports of other controls, on interface 0
	Versions  []Entry   `json:"versions"`            // what the vendor says of it; a reload changes the version
	Filtered  bool      `json:"filtered,omitempty"`  // an echo canceller of the OS carries its sound, too
	LED       bool      `json:"led,omitempty"`       // a host may set the mute by an output report
}

// OSMute is what a mute in the OS does to a device.
type OSMute string

// The kinds of mute in the OS.
const (
	OSNone   OSMute = ""       // the OS shows none
	OSSoft   OSMute = "soft"   // the OS mutes by itself, the device knows nothing
	OSShared OSMute = "shared" // device and OS have one mute
)

// Subject is what a Channel tells of.
type Subject string

// The subjects.
const (
	OfMute   Subject = "mute"   // all that mutes the microphone
	OfButton Subject = "button" // the button's part of it
	OfBoom   Subject = "boom"   // the boom's part of it
	OfLink   Subject = "link"   // whether the headset is there
)

// Form is how a state is told.
type Form string

// The forms.
const (
	FormSwitch  Form = "switch"  // Phone Mute as a switch that stays
	FormPress   Form = "press"   // Phone Mute as a momentary button: each 1 is a press
	FormButtons Form = "buttons" // Phone Mute as 1 for on and -1 for off
	FormHeld    Form = "held"    // a button in a vendor's report: 1 while it is held down
	FormEvent   Form = "event"   // a vendor's report that says "pressed"
	FormLevel   Form = "level"   // a vendor's report with the state
	FormFeature Form = "feature" // a feature report with the state, and an input report when it changes
	FormAnswer  Form = "answer"  // an input report with the state in answer to an output report, and a hint when it changes
	FormHIDPP   Form = "hidpp"   // HID++ 2.0: a function and an event
	FormALSA    Form = "alsa"    // a capture switch in the mixer
	FormLamp    Form = "lamp"    // a program has the mute, and answers presses by the mute lamp, which can be read back
)

// shows reports whether what is told is a state, and not a press.
func (f Form) shows() bool { return f != FormPress && f != FormHeld && f != FormEvent }

// Channel is one way in which a firmware tells a state.
type Channel struct {
	Of        Subject `json:"of"`
	Form      Form    `json:"form"`
	Interface int     `json:"interface"`
	Report    uint8   `json:"report,omitempty"` // number of the input report; 0: the interface has none
	Ask       uint8   `json:"ask,omitempty"`    // number of the feature or output report
	Hint      uint8   `json:"hint,omitempty"`   // number of the report that tells of a change
	Byte      int     `json:"byte,omitempty"`   // place of the state in the report
	On        uint8   `json:"on,omitempty"`
	Off       uint8   `json:"off,omitempty"`
	Busy      uint8   `json:"busy,omitempty"`    // sent before the state is known, or last in a feature report just after a change; 0: never
	AtLink    bool    `json:"at_link,omitempty"` // told also when the headset comes into reach
	Stuck     bool    `json:"stuck,omitempty"`   // after Busy it says no more until the next change
	Twin      bool    `json:"twin,omitempty"`    // it is on interfaces 0 and 1, and comes now on one, now on the other
	BothWays  bool    `json:"both_ways,omitempty"`
}

// Entry is what a vendor says of a model, in one version of the catalogue.
type Entry struct {
	Link    []Rule `json:"link,omitempty"`
	Sources []Rule `json:"sources"`
}

// Rule is a source of the catalogue, and which channels it reads.
type Rule struct {
	Reads []int          `json:"reads,omitempty"` // numbers of channels
	Says  map[string]any `json:"says"`
}

// Unit is one headset.
type Unit struct {
	Model   int    `json:"model"`
	Serial  string `json:"serial,omitempty"`
	Port    int    `json:"port"` // where it is plugged in when the agent starts; 0: nowhere
	Off     bool   `json:"off,omitempty"`
	Away    bool   `json:"away,omitempty"` // out of range
	Muted   bool   `json:"muted,omitempty"`
	BoomUp  bool   `json:"boom_up,omitempty"`
	NoAudio bool   `json:"no_audio,omitempty"`
}

// Suite is the vendor's software for a model.
type Suite struct {
	Model   int  `json:"model"`
	Serials bool `json:"serials,omitempty"` // it names the unit
	TTL     int  `json:"ttl,omitempty"`     // ms; 0: as long as its connection
	Tidy    bool `json:"tidy,omitempty"`    // it takes back what it said of a unit that leaves
	Runs    bool `json:"runs,omitempty"`    // from the beginning
}

// Action is what a step does.
type Action string

// The actions.
const (
	Plug    Action = "plug"    // into Port; the sound comes MS later
	Unplug  Action = "unplug"  // the sound goes MS later
	Press   Action = "press"   // the mute button
	Boom    Action = "boom"    // up or down
	Auto    Action = "auto"    // the firmware changes the mute by itself
	LED     Action = "led"     // a host does, by an output report
	OSSet   Action = "os_mute" // somebody changes the OS's mute
	Power   Action = "power"   // on or off
	Range   Action = "range"   // in or out
	Sound   Action = "sound"   // the endpoints come or go alone
	Volume  Action = "volume"  // another control is used
	Lose    Action = "lose"    // the button is pressed, and the OS loses the report
	Break   Action = "break"   // reading an interface fails; it is opened again MS later, or never if that is negative
	Server  Action = "server"  // the sound server goes or returns
	Sleep   Action = "sleep"   // During happens, the agent hears of it MS after the waking; N 1: and not when that was
	Run     Action = "run"     // the suite N starts or crashes
	Reload  Action = "reload"  // version N of the catalogue
	Restart Action = "restart" // the agent ends in order and starts again
	Replace Action = "replace" // another agent reads everything for MS, while During happens, and then goes on in place of this one
	Pause   Action = "pause"   // for MS; 0: until it is resumed
	Resume  Action = "resume"
	Rest    Action = "rest" // nothing happens for MS; then the invariants hold
)

// Step is one thing that happens.
type Step struct {
	After  int    `json:"after,omitempty"` // ms since the step before
	Do     Action `json:"do"`
	Unit   int    `json:"unit,omitempty"`
	N      int    `json:"n,omitempty"`
	Port   int    `json:"port,omitempty"`
	MS     int    `json:"ms,omitempty"`
	During []Step `json:"during,omitempty"`

	Client    int        `json:"client,omitempty"`
	Fault     string     `json:"fault,omitempty"`
	Reporting *Reporting `json:"reporting,omitempty"` // Configure: the new settings
}

// String is the scenario for people: a line for each part.
func (s Scenario) String() string {
	var b strings.Builder
	list(&b, "model", s.Models)
	list(&b, "headset", s.Units)
	list(&b, "suite", s.Suites)
	list(&b, "client", s.Clients)
	list(&b, "reporting", []Reporting{s.Reporting})
	list(&b, "step", s.Steps)
	return b.String()
}

func list[T any](b *strings.Builder, what string, parts []T) {
	for i, p := range parts {
		fmt.Fprintf(b, "  %s %d: %s\n", what, i, text(p))
	}
}
