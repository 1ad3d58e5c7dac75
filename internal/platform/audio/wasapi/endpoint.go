package wasapi

import (
	"cmp"
	"maps"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows"
)

// States of endpoints (DEVICE_STATE). Disabled and absent endpoints are not listed, since no program can use them.
const (
	active    = 1
	unplugged = 8
)

// remote is the form factor of a device at the other end of a remote desktop connection (RemoteNetworkDevice).
const remote = 0

// muteInHardware means that the device applies its mute itself (ENDPOINT_HARDWARE_SUPPORT_MUTE).
const muteInHardware = 2

// facts are what Windows says about an endpoint.
type facts struct {
	id         string
	kind       devices.Type
	state      uint32
	isDefault  bool
	name       string
	formFactor *uint32 // nil: unknown
	container  string  // in braces
	hardware   windows.Hardware

	mute     devices.Tri
	supports uint32 // what the device applies itself
	effects  map[devices.Field]devices.Tri
}

// remote reports whether another computer has the device. Such an endpoint is never reported, since the client runs here.
func (f facts) remote() bool { return f.formFactor != nil && *f.formFactor == remote }

// endpoint converts the facts.
func (f facts) endpoint() devices.Endpoint {
	e := devices.Endpoint{
		ID:        f.id,
		Type:      f.kind,
		Name:      strings.ToValidUTF8(f.name, "\uFFFD"),
		Bus:       f.hardware.Bus,
		VID:       f.hardware.VID,
		PID:       f.hardware.PID,
		Serial:    f.hardware.Serial,
		Container: windows.Container(f.container),
		Virtual:   f.hardware.Bus == devices.Virtual,
		Default:   f.isDefault,
		Mute:      f.mute,
		Effects:   maps.Clone(f.effects),
		SeenBy:    []string{"wasapi"},
	}
	e.MuteInHardware = f.mute.Known() && f.supports&muteInHardware != 0
	if f.state == unplugged {
		e.Plugged = devices.False
	}
	return e
}

// instance picks the instance id of an endpoint's device, best source first: the adapter that the endpoint is connected to, the path to
// that adapter, and a property that has it if the adapter cannot be read, as "{1}.USB\VID_…".
func instance(adapter, path, property string) string {
	_, property, _ = strings.Cut(property, ".")
	return cmp.Or(adapter, windows.InstanceOf(path), property)
}
