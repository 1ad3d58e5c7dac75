// Package world is a desk in virtual time: headsets with a true mute, their vendor's catalogue and
// software, the OS between, and the agent's own code fed through its real inputs. A scenario is data,
// drawn from a seed; a run of it returns what must never be. docs/world.md says what is guaranteed,
// and which liberties the world takes.
package world

import (
	"fmt"
	"strings"
)

// scenario is all that a run depends on. Without models there is no Engine: the lists that clients are to get come from steps.
type scenario struct {
	Seed   uint64        `json:"seed"` // of latencies; the seed that it was drawn from
	Models []model       `json:"models,omitempty"`
	Units  []unit        `json:"units,omitempty"`
	Suites []vendorSuite `json:"suites,omitempty"`

	Clients   []clientSpec `json:"clients,omitempty"`
	Reporting reporting    `json:"reporting,omitzero"`
	Long      bool         `json:"long,omitempty"` // without models: the lists are longer than what a client reads ahead

	Steps []scenarioStep `json:"steps"`
}

// bus is how a model is attached.
type bus string

// The ways to attach a model. A dongle is USB and stays while the headset behind it comes and goes.
const (
	usb       bus = "usb"
	dongle    bus = "dongle"
	bluetooth bus = "bluetooth"
)

// model is what the firmware of a headset does, and what its vendor says of it.
type model struct {
	Bus       bus       `json:"bus"`
	Keeps     bool      `json:"keeps,omitempty"`     // the mute outlasts power-off and unplugging; else it begins as false
	ResetsUp  bool      `json:"resets_up,omitempty"` // the mute is off whenever the link comes up
	Boom      bool      `json:"boom,omitempty"`      // a boom mutes beside the button
	OSMute    osMute    `json:"os_mute,omitempty"`   // what the OS's mute does
	Flagged   bool      `json:"flagged,omitempty"`   // the OS says that its mute is a switch in the device
	NamedIDs  bool      `json:"named_ids,omitempty"` // the list names endpoints as the OS shows them, equal for all units
	Split     bool      `json:"split,omitempty"`     // HID and sound are two USB devices with one serial number
	Unsighted bool      `json:"unsighted,omitempty"` // its endpoints have no hardware identity but the serial number
	Channels  []channel `json:"channels"`            // how it tells states
	Noise     []int     `json:"noise,omitempty"`     // reports of other controls, on interface 0
	Versions  []entry   `json:"versions"`            // what the vendor says of it; a reload changes the version
	Filtered  bool      `json:"filtered,omitempty"`  // an echo canceller of the OS carries its sound, too
	LED       bool      `json:"led,omitempty"`       // a host may set the mute by an output report
}

// osMute is what a mute in the OS does to a device.
type osMute string

// The kinds of mute in the OS.
const (
	osNone   osMute = ""       // the OS shows none
	osSoft   osMute = "soft"   // the OS mutes by itself, the device knows nothing
	osShared osMute = "shared" // device and OS have one mute
)

// subject is what a Channel tells of.
type subject string

// The subjects.
const (
	ofMute   subject = "mute"   // all that mutes the microphone
	ofButton subject = "button" // the button's part of it
	ofBoom   subject = "boom"   // the boom's part of it
	ofLink   subject = "link"   // whether the headset is there
)

// form is how a state is told.
type form string

// The forms.
const (
	formSwitch  form = "switch"  // Phone Mute as a switch that stays
	formPress   form = "press"   // Phone Mute as a momentary button: each 1 is a press
	formButtons form = "buttons" // Phone Mute as 1 for on and -1 for off
	formHeld    form = "held"    // a button in a vendor's report: 1 while it is held down
	formEvent   form = "event"   // a vendor's report that says "pressed"
	formLevel   form = "level"   // a vendor's report with the state
	formFeature form = "feature" // a feature report with the state, and an input report when it changes
	formAnswer  form = "answer"  // an input report with the state in answer to an output report, and a hint when it changes
	formHIDPP   form = "hidpp"   // HID++ 2.0: a function and an event
	formALSA    form = "alsa"    // a capture switch in the mixer
	formLamp    form = "lamp"    // a program has the mute, and answers presses by the mute lamp, which can be read back
)

// shows reports whether what is told is a state, and not a press.
func (f form) shows() bool { return f != formPress && f != formHeld && f != formEvent }

// channel is one way in which a firmware tells a state.
type channel struct {
	Of        subject `json:"of"`
	Form      form    `json:"form"`
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

// entry is what a vendor says of a model, in one version of the catalogue.
type entry struct {
	Link    []rule `json:"link,omitempty"`
	Sources []rule `json:"sources"`
}

// rule is a source of the catalogue, and which channels it reads.
type rule struct {
	Reads []int          `json:"reads,omitempty"` // numbers of channels
	Says  map[string]any `json:"says"`
}

// unit is one headset.
type unit struct {
	Model   int    `json:"model"`
	Serial  string `json:"serial,omitempty"`
	Port    int    `json:"port"` // where it is plugged in when the agent starts; 0: nowhere
	Off     bool   `json:"off,omitempty"`
	Away    bool   `json:"away,omitempty"` // out of range
	Muted   bool   `json:"muted,omitempty"`
	BoomUp  bool   `json:"boom_up,omitempty"`
	NoAudio bool   `json:"no_audio,omitempty"`
}

// vendorSuite is the vendor's software for a model.
type vendorSuite struct {
	Model   int  `json:"model"`
	Serials bool `json:"serials,omitempty"` // it names the unit
	TTL     int  `json:"ttl,omitempty"`     // ms; 0: as long as its connection
	Tidy    bool `json:"tidy,omitempty"`    // it takes back what it said of a unit that leaves
	Runs    bool `json:"runs,omitempty"`    // from the beginning
}

// action is what a step does.
type action string

// The actions.
const (
	doPlug    action = "plug"    // into Port; the sound comes MS later
	doUnplug  action = "unplug"  // the sound goes MS later
	doPress   action = "press"   // the mute button
	doBoom    action = "boom"    // up or down
	doAuto    action = "auto"    // the firmware changes the mute by itself
	doLED     action = "led"     // a host does, by an output report
	doOSSet   action = "os_mute" // somebody changes the OS's mute
	doPower   action = "power"   // on or off
	doRange   action = "range"   // in or out
	doSound   action = "sound"   // the endpoints come or go alone
	doVolume  action = "volume"  // another control is used
	doLose    action = "lose"    // the button is pressed, and the OS loses the report
	doBreak   action = "break"   // reading an interface fails; it is opened again MS later, or never if that is negative
	doServer  action = "server"  // the sound server goes or returns
	doSleep   action = "sleep"   // During happens, the agent hears of it MS after the waking; N 1: and not when that was
	doRun     action = "run"     // the suite N starts or crashes
	doReload  action = "reload"  // version N of the catalogue
	doRestart action = "restart" // the agent ends in order and starts again
	doReplace action = "replace" // another agent reads everything for MS, while During happens, and then goes on in place of this one
	doPause   action = "pause"   // for MS; 0: until it is resumed
	doResume  action = "resume"
	doRest    action = "rest" // nothing happens for MS; then the invariants hold
)

// scenarioStep is one thing that happens.
type scenarioStep struct {
	After  int            `json:"after,omitempty"` // ms since the step before
	Do     action         `json:"do"`
	Unit   int            `json:"unit,omitempty"`
	N      int            `json:"n,omitempty"`
	Port   int            `json:"port,omitempty"`
	MS     int            `json:"ms,omitempty"`
	During []scenarioStep `json:"during,omitempty"`

	Client    int        `json:"client,omitempty"`
	Fault     string     `json:"fault,omitempty"`
	Reporting *reporting `json:"reporting,omitempty"` // Configure: the new settings
}

// String is the scenario for people: a line for each part.
func (s scenario) String() string {
	var b strings.Builder
	list(&b, "model", s.Models)
	list(&b, "headset", s.Units)
	list(&b, "suite", s.Suites)
	list(&b, "client", s.Clients)
	list(&b, "reporting", []reporting{s.Reporting})
	list(&b, "step", s.Steps)
	return b.String()
}

func list[T any](b *strings.Builder, what string, parts []T) {
	for i, p := range parts {
		fmt.Fprintf(b, "  %s %d: %s\n", what, i, text(p))
	}
}
