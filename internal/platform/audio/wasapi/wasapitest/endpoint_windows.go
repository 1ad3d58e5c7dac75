package wasapitest

import (
	"cmp"
	"strings"

	"sidetone/internal/platform/windows/com"
)

// An Endpoint is an endpoint of the stand-in.
type Endpoint struct {
	ID        string // {0.0.1.…: an input
	State     uint32 // 0: active
	Name      any    // this and the next three may be a string, a uint32, a com.GUID, a []byte (a BLOB), or nil, which is no value
	Form      any
	Container any
	Adapter   any    // the instance id of its device
	Support   uint32 // what the hardware does itself (ENDPOINT_HARDWARE_SUPPORT)
	Mute      bool
	Effects   []Effect // nil: Windows does not report any
}

// An Effect is an effect of an endpoint (AUDIO_EFFECT).
type Effect struct {
	ID           com.GUID
	Settable, On int32
}

// Ids of effects.
var (
	EchoCancellation = com.MustGUID("6F64ADBE-8211-11E2-8C70-2C27D7F001FA")
	NoiseSuppression = com.MustGUID("6F64ADBF-8211-11E2-8C70-2C27D7F001FA")
)

func (e *Endpoint) isInput() bool { return strings.HasPrefix(e.ID, "{0.0.1.") }

func (e *Endpoint) state() uint32 { return cmp.Or(e.State, 1) }

// Microphone is the microphone of a USB headset.
func Microphone() Endpoint {
	return Endpoint{
		ID: "{0.0.1.00000000}.{22222222-0000-4000-8000-000000000002}", Name: "Headset Microphone (Acme One)", Form: uint32(5),
		Container: com.MustGUID("11223344-5566-7788-99AA-BBCCDDEEFF00"), Adapter: `USB\VID_046F&PID_0001&MI_00\7&1A2B3C&0&0000`, Support: 3,
	}
}

// Earphones are the earphones of the same headset.
func Earphones() Endpoint {
	e := Microphone()
	e.ID, e.Name, e.Support = "{0.0.0.00000000}.{11111111-0000-4000-8000-000000000001}", "Headset Earphone (Acme One)", 1
	return e
}

// Headset700 is the microphone and the earphones of the headset in examples/acme.yaml.
func Headset700() [2]Endpoint {
	headset := [2]Endpoint{Microphone(), Earphones()}
	for i, name := range []string{"Headset Microphone (Acme Headset 700)", "Headset Earphone (Acme Headset 700)"} {
		headset[i].Name, headset[i].Adapter = name, `USB\VID_1209&PID_0700&MI_00\7&1A2B3C&0&0000`
	}
	return headset
}
