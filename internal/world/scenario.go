// Package world simulates a desk in virtual time: headsets with a true mute, their vendor's catalogue and
// software, the OS in between, and the agent's own code, fed through its real inputs. A scenario is data
// that is drawn from a seed. Playing it returns violations of invariants. docs/world.md says what is
// guaranteed, and which liberties the world takes.
package world

import (
	"fmt"
	"slices"
	"strings"
)

// scenario is everything a run depends on. Without models there is no Engine, and steps make up the lists for clients.
type scenario struct {
	Seed   uint64        `json:"seed"` // from which the scenario and all delays are drawn
	Models []model       `json:"models,omitempty"`
	Units  []unit        `json:"units,omitempty"`
	Suites []vendorSuite `json:"suites,omitempty"`

	Strangers []stranger `json:"strangers,omitempty" reduce:"empty"`

	Clients   []clientSpec   `json:"clients,omitempty"`
	Reporting clientSettings `json:"reporting,omitzero" reduce:"empty"`
	Long      bool           `json:"long,omitempty" reduce:"empty"` // without models: lists are longer than a client's buffers

	Steps []scenarioStep `json:"steps"`
}

// bus is how a model is attached.
type bus string

// The buses. A dongle is USB and stays plugged in while the headset behind it comes and goes.
const (
	usb       bus = "usb"
	dongle    bus = "dongle"
	bluetooth bus = "bluetooth"
)

// model is a kind of headset: what its firmware does, and what the vendor's catalogue says.
type model struct {
	Bus         bus       `json:"bus"`
	Keeps       bool      `json:"keeps,omitempty" reduce:"empty"`        // the mute survives power-off and unplugging; else it starts as false
	ResetsUp    bool      `json:"resets_up,omitempty"`                   // the mute is off whenever the link comes up
	Boom        bool      `json:"boom,omitempty"`                        // a boom mutes as well as the button
	OSMute      osMute    `json:"os_mute,omitempty" reduce:"empty"`      // what muting in the OS does
	Flagged     bool      `json:"flagged,omitempty" reduce:"empty"`      // the OS says that its mute is a switch in the device
	NamedIDs    bool      `json:"named_ids,omitempty" reduce:"empty"`    // endpoints are reported by name, equal for all units
	Split       bool      `json:"split,omitempty" reduce:"empty"`        // HID and sound are two USB devices with one serial number
	NoContainer bool      `json:"no_container,omitempty" reduce:"empty"` // its endpoints have no hardware identity except the serial number
	Channels    []channel `json:"channels"`                              // how it reports states
	Noise       []int     `json:"noise,omitempty" reduce:"empty"`        // reports of other controls, on interface 0
	Versions    []entry   `json:"versions"`                              // of the catalogue entry; a reload changes the version
	Filtered    bool      `json:"filtered,omitempty"`                    // an echo canceller of the OS also shows its sound
	LED         bool      `json:"led,omitempty" reduce:"empty"`          // a host may set the mute by an output report
	Searches    bool      `json:"searches,omitempty" reduce:"empty"`     // a dongle that was plugged in takes a moment to find its headset
	Line        lineIn    `json:"line,omitempty" reduce:"empty"`         // its line-in, a second input
	Drowsy      int       `json:"drowsy,omitempty" reduce:"empty"`       // ms that it takes to handle the first request after a silence
	CardLate    bool      `json:"card_late,omitempty" reduce:"empty"`    // its card comes with its first endpoints, after its HID devices
	AnswersLate bool      `json:"answers_late,omitempty" reduce:"empty"` // each input report that answers is sent when the next question comes
}

// stranger is a microphone of another vendor that has the name of a model. Nothing ever mutes it.
type stranger struct {
	Model int  `json:"model"`
	There bool `json:"there,omitempty" reduce:"empty"` // when the agent starts
}

// lineIn is a second input of a model.
type lineIn string

const (
	lineNone  lineIn = ""
	lineMuted lineIn = "muted" // the mute acts on both inputs
	lineOpen  lineIn = "open"  // the mute acts on the microphone only, and the sources say so; nothing mutes the line-in
)

// osMute is what a mute in the OS does to a device.
type osMute string

const (
	osNone   osMute = ""       // the OS shows none
	osSoft   osMute = "soft"   // the OS mutes by itself, the device knows nothing
	osShared osMute = "shared" // device and OS have one mute
)

// subject is the state that a channel reports.
type subject string

const (
	ofMute   subject = "mute"   // all that mutes the microphone
	ofButton subject = "button" // the button's part of it
	ofBoom   subject = "boom"   // the boom's part of it
	ofLink   subject = "link"   // whether the headset is there
	ofNoise  subject = "noise"  // whether its noise suppression is on
)

// form is how a channel reports a state.
type form string

const (
	formSwitch  form = "switch"  // Phone Mute as a maintained switch
	formPress   form = "press"   // Phone Mute as a momentary button: each 1 is a press
	formButtons form = "buttons" // Phone Mute as 1 for on and -1 for off
	formHeld    form = "held"    // a button in a vendor's report: 1 while it is held down
	formEvent   form = "event"   // a vendor's report that says "pressed"
	formLevel   form = "level"   // a vendor's report that has the state
	formFeature form = "feature" // a feature report with the state, and an input report when it changes
	formAnswer  form = "answer"  // an input report with the state in answer to an output report, and a hint when it changes
	formHIDPP   form = "hidpp"   // HID++ 2.0: a function and an event
	formALSA    form = "alsa"    // a capture switch in the mixer
	formLamp    form = "lamp"    // a program has the mute and reacts to presses by setting the mute lamp, which can be read back
)

// isState reports whether the channel reports a state, and not a press.
func (f form) isState() bool { return f != formPress && f != formHeld && f != formEvent }

// isAsked reports whether the channel tells its state in answers.
func (f form) isAsked() bool {
	return f == formFeature || f == formAnswer || f == formHIDPP || f == formLamp
}

// channel is one way in which a firmware reports a state.
type channel struct {
	Of        subject `json:"of"`
	Form      form    `json:"form"`
	Interface int     `json:"interface"`
	Report    uint8   `json:"report,omitempty"` // number of the input report; 0: the interface has none
	Ask       uint8   `json:"ask,omitempty"`    // number of the feature or output report
	Hint      uint8   `json:"hint,omitempty"`   // number of the report that announces a change
	Byte      int     `json:"byte,omitempty"`   // index of the state in the report
	On        uint8   `json:"on,omitempty"`
	Off       uint8   `json:"off,omitempty"`
	Busy      uint8   `json:"busy,omitempty" reduce:"empty"`    // sent before the state is known, or last in a feature report; 0: never
	AtLink    bool    `json:"at_link,omitempty" reduce:"empty"` // reported also when the headset comes into reach
	Stuck     bool    `json:"stuck,omitempty"`                  // after Busy it reports nothing until the next change
	Twin      bool    `json:"twin,omitempty"`                   // it is reported on interface 0 or 1, at random
	Both      bool    `json:"both,omitempty" reduce:"empty"`    // of a twin: it is reported on both
	Property  uint8   `json:"property,omitempty"`               // byte 1 of request and answer, where properties share reports; 0: none
	BothWays  bool    `json:"both_ways,omitempty" reduce:"empty"`
}

// entry is what one version of the catalogue says of a model.
type entry struct {
	Link    []rule `json:"link,omitempty"`
	Sources []rule `json:"sources"`
}

// rule is a rule of the catalogue, and the channels that it reads.
type rule struct {
	Reads []int          `json:"reads,omitempty"` // indices of channels
	Says  map[string]any `json:"says"`
}

// unit is one headset.
type unit struct {
	Model   int    `json:"model"`
	Serial  string `json:"serial,omitempty"`
	Port    int    `json:"port"` // where it is plugged in when the agent starts; 0: nowhere
	Off     bool   `json:"off,omitempty" reduce:"empty"`
	Away    bool   `json:"away,omitempty" reduce:"empty"` // out of range
	Muted   bool   `json:"muted,omitempty" reduce:"empty"`
	BoomUp  bool   `json:"boom_up,omitempty" reduce:"empty"`
	NoAudio bool   `json:"no_audio,omitempty" reduce:"empty"`
	Quiet   bool   `json:"quiet,omitempty" reduce:"empty"` // its noise suppression is on
}

// vendorSuite is the vendor's software for a model, which tells the agent what it knows of the mute.
type vendorSuite struct {
	Model   int  `json:"model"`
	Serials bool `json:"serials,omitempty" reduce:"empty"` // it gives the serial number of the unit
	TTL     int  `json:"ttl,omitempty"`                    // ms; 0: as long as its connection
	Tidy    bool `json:"tidy,omitempty" reduce:"empty"`    // it takes back what it said of a unit that goes away
	Runs    bool `json:"runs,omitempty"`                   // from the start
	Late    int  `json:"late,omitempty" reduce:"empty"`    // ms after which it pushes what it has seen, whatever has happened since
	Hasty   bool `json:"hasty,omitempty" reduce:"empty"`   // without serial numbers, it pushes beside another headset of the model, too
	Counts  bool `json:"counts,omitempty" reduce:"empty"`  // it numbers its pushes, from 1 at each start
}

// action is what a step does.
type action string

const (
	doPlug    action = "plug"    // into Port; the sound comes MS later; N 1: by way of a hub that had kept its power
	doUnplug  action = "unplug"  // the sound goes MS later
	doPress   action = "press"   // the mute button
	doBoom    action = "boom"    // up or down
	doAuto    action = "auto"    // the firmware changes the mute on its own
	doLED     action = "led"     // a host changes the mute by an output report
	doOSSet   action = "os_mute" // somebody changes the OS's mute
	doPower   action = "power"   // on or off
	doRange   action = "range"   // in or out
	doSound   action = "sound"   // the endpoints come or go alone
	doVolume  action = "volume"  // another control is used
	doLose    action = "lose"    // the button is pressed, and the OS loses the report
	doBreak   action = "break"   // reading an interface fails; it is opened again MS later, or never if that is negative
	doServer  action = "server"  // the sound server goes or returns
	doSleep   action = "sleep"   // During happens, and the agent hears of the sleep MS after it; N 1: but not when it ended
	doRun     action = "run"     // the suite N starts or crashes
	doReload  action = "reload"  // version N of the catalogue
	doRestart action = "restart" // the agent ends in order and starts again
	doReplace action = "replace" // the agent makes way for a newer program, which starts MS later, after During; N 1: it never does
	doNoise   action = "noise"   // its noise suppression is switched
	doAsk     action = "ask"     // another program asks the device for what channel N reports, with software id Port
	doStall   action = "stall"   // the agent reads nothing for MS, while During happens
	doForeign action = "foreign" // the stranger N comes or goes
	doRoute   action = "route"   // what its echo canceller records: N 0: it, 1: nobody knows, 2: the built-in microphone
	doManager action = "manager" // the session manager takes all endpoints away for MS; the cards stay
	doLog     action = "log"     // what takes the agent's log sticks, or goes on
	doPause   action = "pause"   // for MS; 0: until it is resumed
	doResume  action = "resume"
	doRest    action = "rest" // nothing happens for MS; then the invariants hold
)

// scenarioStep is one thing that happens. Which fields apply depends on the action.
type scenarioStep struct {
	After  int            `json:"after,omitempty"` // ms since the step before
	Do     action         `json:"do"`
	Unit   int            `json:"unit,omitempty"`
	N      int            `json:"n,omitempty"`
	Port   int            `json:"port,omitempty"`
	MS     int            `json:"ms,omitempty"`
	During []scenarioStep `json:"during,omitempty" reduce:"empty"`
	Clock  int            `json:"clock,omitempty" reduce:"empty"` // Replace: by how many seconds the wall clock is set meanwhile

	Client    int             `json:"client,omitempty"`
	Fault     string          `json:"fault,omitempty"`
	Reporting *clientSettings `json:"reporting,omitempty"` // Configure: the new settings
}

// does reports whether a step of the scenario is one of these.
func (s scenario) does(actions ...action) bool {
	return slices.ContainsFunc(s.Steps, func(st scenarioStep) bool { return slices.Contains(actions, st.Do) })
}

// String returns the scenario for people: one line for each part.
func (s scenario) String() string {
	var b strings.Builder
	list(&b, "model", s.Models)
	list(&b, "headset", s.Units)
	list(&b, "suite", s.Suites)
	list(&b, "client", s.Clients)
	list(&b, "reporting", []clientSettings{s.Reporting})
	list(&b, "step", s.Steps)
	return b.String()
}

func list[T any](b *strings.Builder, what string, parts []T) {
	for i, p := range parts {
		fmt.Fprintf(b, "  %s %d: %s\n", what, i, text(p))
	}
}
