package fakeusb

import (
	"errors"
	"fmt"
)

// A Command tells a [Bench] to do one thing. It is one line of JSON on the standard input of fakeusbd.
type Command struct {
	Do     Action `json:"do"`
	Port   int    `json:"port"`
	Device *Spec  `json:"device,omitempty"` // for Plug
	On     bool   `json:"on,omitempty"`     // for Mute, PhoneMute, Gain and Shutter
	Report string `json:"report,omitempty"` // for Report: hexadecimal, with the report's number first
}

// An Action is what a command does with the device in its port.
type Action string

// The actions. Those that change a device report the change to the host, and fail if the host does not read that.
const (
	DoPlug   Action = "plug"
	DoUnplug Action = "unplug"
	// DoMute mutes or unmutes the microphone on the device, as its mute button does.
	DoMute Action = "mute"
	// DoPhoneMute presses the mute button of the telephony interface, which has nothing to do with DoMute: some headsets have both, most
	// have one. On is where to move the switch of [PhoneMuteLevel], or which button of [PhoneMuteTwoButtons] to press; to
	// [PhoneMuteMomentary] it means nothing.
	DoPhoneMute Action = "phone_mute"
	// DoGain switches automatic gain control, as a vendor's own tool or a switch on the device does. It fails where there is none.
	DoGain Action = "gain"
	// DoReport sends an input report of the telephony interface, see telephony.go for its bits.
	DoReport  Action = "report"
	DoShutter Action = "shutter"
	// DoState changes nothing; every answer to a device that is plugged in carries its state.
	DoState Action = "state"
)

// A Spec describes a device to plug in. A string that is empty has no descriptor at all, as with many real devices that carry no serial
// number.
type Spec struct {
	Kind         string `json:"kind"` // headset or camera
	ID           string `json:"id"`   // vendor and product, "1209:0700"
	Manufacturer string `json:"manufacturer,omitempty"`
	Name         string `json:"name,omitempty"` // the product string
	Serial       string `json:"serial,omitempty"`

	// For headsets. Feature is the name that the microphone's feature unit gives itself: the kernel then names the controls after it ("X
	// Capture Switch"), and sound servers that look for well-known names do not find them. GainControl adds an automatic gain control
	// switch to the microphone. PhoneMute is how the telephony interface reports its mute button, [PhoneMuteMomentary] if empty.
	Feature     string    `json:"feature,omitempty"`
	GainControl bool      `json:"gain_control,omitempty"`
	PhoneMute   PhoneMute `json:"phone_mute,omitempty"`
}

// State is what a device knows about itself and its host.
type State struct {
	Muted         bool  `json:"muted"`
	GainControl   bool  `json:"gain_control"`
	Recording     bool  `json:"recording"` // the host has opened the stream
	Playing       bool  `json:"playing"`
	Lamps         uint8 `json:"lamps"` // last telephony output report
	ShutterClosed bool  `json:"shutter_closed"`

	// Requests are all report requests to the telephony interface since it was plugged in, oldest first: "get", the type of
	// the report and its number, or "set", the type and the whole report, in hexadecimal. "set output 0102" lit the mute lamp.
	Requests []string `json:"requests,omitempty"`
}

// An Answer is the one line that answers a command.
type Answer struct {
	Error string `json:"error,omitempty"`
	State *State `json:"state,omitempty"` // of the device in the port, if there is one
}

// inserted is a device in a port: a plug, outside of tests.
type inserted interface {
	PullOut() error
	Err() error
}

// operable is what headset and camera have in common beyond [Device].
type operable interface {
	Device
	State() State
	operate(Command) error // for the actions that need a device
}

type slot struct {
	device operable
	plug   inserted
}

// A Bench holds the devices in the ports of the virtual host controller. It is not safe for concurrent use.
type Bench struct {
	plugIn func(port int, device Device) (inserted, error)
	slots  map[int]slot
}

// Do carries one command out. Errors are in the answer; a failed command leaves the bench as it was, except that a failed
// unplug empties the port all the same.
func (b *Bench) Do(c Command) Answer {
	if err := b.do(c); err != nil {
		return Answer{Error: fmt.Sprintf("%s on port %d: %v", c.Do, c.Port, err)}
	}
	if s, ok := b.slots[c.Port]; ok {
		return Answer{State: new(s.device.State())}
	}
	return Answer{}
}

func (b *Bench) do(c Command) error {
	if c.Do == DoPlug {
		return b.plug(c)
	}
	s, ok := b.slots[c.Port]
	if !ok {
		return errors.New("no device is plugged in there")
	}
	if err := s.plug.Err(); err != nil && c.Do != DoUnplug {
		return fmt.Errorf("the connection to the host has failed: %w", err)
	}
	switch c.Do {
	case DoUnplug:
		delete(b.slots, c.Port)
		return s.plug.PullOut()
	case DoState:
		return nil
	}
	return s.device.operate(c)
}

var errNoSuchAction = errors.New("the device in this port has no such action")

func (b *Bench) plug(c Command) error {
	if _, taken := b.slots[c.Port]; taken {
		return errors.New("a device is plugged in there already")
	}
	if c.Device == nil {
		return errors.New("no device given")
	}
	device, err := c.Device.build()
	if err != nil {
		return err
	}
	plug, err := b.plugIn(c.Port, device)
	if err != nil {
		return err
	}
	b.slots[c.Port] = slot{device, plug}
	return nil
}

// Close pulls all devices out.
func (b *Bench) Close() error {
	var errs []error
	for port, s := range b.slots {
		errs = append(errs, s.plug.PullOut())
		delete(b.slots, port)
	}
	return errors.Join(errs...)
}

func (s Spec) build() (operable, error) {
	switch s.Kind {
	case "headset":
		return newHeadset(s)
	case "camera":
		return newCamera(s)
	}
	return nil, fmt.Errorf("unknown kind of device %q: headset or camera", s.Kind)
}

func parseID(id string) (vendor, product uint16, err error) {
	if _, err := fmt.Sscanf(id+"\n", "%x:%x\n", &vendor, &product); err != nil {
		return 0, 0, fmt.Errorf("usb id %q is not of the form 1209:0700: %w", id, err)
	}
	return vendor, product, nil
}
