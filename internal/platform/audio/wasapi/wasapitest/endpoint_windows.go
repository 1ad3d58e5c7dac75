package wasapitest

import (
	"strings"

	"sidetone/internal/platform/windows/com"
)

// An Endpoint is an endpoint of the stand-in.
type Endpoint struct {
	ID      string // {0.0.1.…: an input
	State   uint32 // 0: active
	Name    any    // this and the next three: a string, uint32, com.GUID, []byte (a BLOB), or nil for no value
	Form    any
	Holder  any    // its container
	Adapter any    // the instance id of its device
	Support uint32 // what the device applies itself
	Mute    bool
	Effects []Effect // nil: not reported
}

// An Effect is one of an endpoint's (AUDIO_EFFECT).
type Effect struct {
	ID           com.GUID
	Settable, On int32
}

// Known effects.
var (
	EchoCancellation = com.MustGUID("6F64ADBE-8211-11E2-8C70-2C27D7F001FA")
	NoiseSuppression = com.MustGUID("6F64ADBF-8211-11E2-8C70-2C27D7F001FA")
)

func (e *Endpoint) isInput() bool { return strings.HasPrefix(e.ID, "{0.0.1.") }

func (e *Endpoint) state() uint32 {
	if e.State == 0 {
		return 1
	}
	return e.State
}

// Microphone returns that of a USB headset.
func Microphone() Endpoint {
	return Endpoint{
		ID: "{0.0.1.00000000}.{22222222-0000-4000-8000-000000000002}", Name: "Headset Microphone (Acme One)", Form: uint32(5),
		Holder: com.MustGUID("11223344-5566-7788-99AA-BBCCDDEEFF00"), Adapter: `USB\VID_046F&PID_0001&MI_00\7&1A2B3C&0&0000`, Support: 3,
	}
}

// Earphones returns those of the headset of Microphone.
func Earphones() Endpoint {
	e := Microphone()
	e.ID, e.Name, e.Support = "{0.0.0.00000000}.{11111111-0000-4000-8000-000000000001}", "Headset Earphone (Acme One)", 1
	return e
}

// Headset700 returns the microphone and earphones of the headset in examples/acme.yaml.
func Headset700() [2]Endpoint {
	headset := [2]Endpoint{Microphone(), Earphones()}
	for i, name := range []string{"Headset Microphone (Acme Headset 700)", "Headset Earphone (Acme Headset 700)"} {
		headset[i].Name, headset[i].Adapter = name, `USB\VID_1209&PID_0700&MI_00\7&1A2B3C&0&0000`
	}
	return headset
}
