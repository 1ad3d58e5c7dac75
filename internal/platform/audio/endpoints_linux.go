package audio

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/platform/linux"
)

// usbFinder returns the USB device behind a path below /sys, as linux.USBParent does.
type usbFinder func(path string) (linux.USBDevice, bool)

// rememberUSB caches its results: the hardware behind a path does not change while its endpoints exist, and a mute must not wait for the
// file system.
func rememberUSB(sysfs string) usbFinder {
	type answer struct {
		device linux.USBDevice
		ok     bool
	}
	known := make(map[string]answer)
	return func(path string) (linux.USBDevice, bool) {
		a, ok := known[path]
		if !ok {
			a.device, a.ok = linux.USBParent(filepath.Join(sysfs, path))
			known[path] = a
		}
		return a.device, a.ok
	}
}

// endpointsOf converts what the sound server says. Monitors are left out: they are no microphones, and PipeWire gives them the hardware
// identity of their sink.
func endpointsOf(s pulse.Snapshot, findUSB usbFinder) []devices.Endpoint {
	cancels := pulse.EchoCancels(s.Server, s.Modules)
	out := make([]devices.Endpoint, 0, len(s.Sources)+len(s.Sinks))
	for _, src := range s.Sources {
		if src.IsMonitor() {
			continue
		}
		e := endpointOf(src.Device, s.Cards, findUSB)
		e.Type = devices.AudioInput
		e.Default = src.Name == s.Server.DefaultSource
		e.MuteInHardware = src.MuteInHardware()
		if p, ok := pulse.ProcessingOf(cancels, src); ok {
			e.Virtual = true
			e.Effects = effectsOf(p)
		}
		if e.Virtual {
			e.Master = s.MasterOf(src)
		}
		out = append(out, e)
	}
	for _, sink := range s.Sinks {
		e := endpointOf(sink.Device, s.Cards, findUSB)
		e.Type = devices.AudioOutput
		e.Master = sink.Properties["device.master_device"] // what it was made for: no flag depends on it
		e.Default = sink.Name == s.Server.DefaultSink
		out = append(out, e)
	}
	return out
}

func endpointOf(d pulse.Device, cards []pulse.Card, findUSB usbFinder) devices.Endpoint {
	var card map[string]string // its properties
	if i := slices.IndexFunc(cards, func(c pulse.Card) bool { return c.Index == d.Card }); i >= 0 {
		card = cards[i].Properties
	}
	prop := func(key string) string { return cmp.Or(d.Properties[key], card[key]) }
	e := devices.Endpoint{
		ID:      d.Name,
		Name:    d.Description,
		Bus:     busOf(prop("device.bus")),
		VID:     linux.HexID(lastPart(prop("device.vendor.id"))),
		PID:     linux.HexID(lastPart(prop("device.product.id"))),
		Serial:  prop("device.serial"),
		Plugged: plugged(d.Plugged),
		Mute:    devices.Of(d.Mute),
		SeenBy:  []string{"pulse"},
		Mixer:   mixerOf(prop),
	}
	if e.Bus == devices.Bluetooth {
		e.Container = bluetoothContainer(prop)
	}
	if path := prop("sysfs.path"); path != "" {
		if usb, ok := findUSB(path); ok {
			e.Bus, e.VID, e.PID = devices.USB, usb.VID, usb.PID
			e.Serial, e.Container = usb.Serial, usb.Container
		}
	}
	e.Virtual = d.Flags&pulse.FlagHardware == 0 && e.VID == ""
	return e
}

func busOf(s string) devices.Bus {
	switch b := devices.Bus(s); b {
	case devices.USB, devices.Bluetooth, devices.PCI:
		return b
	default:
		return ""
	}
}

// lastPart drops what some servers put before an id, as in "bluetooth:0094".
func lastPart(s string) string { return s[strings.LastIndexByte(s, ':')+1:] }

func bluetoothContainer(prop func(string) string) string {
	address := cmp.Or(prop("api.bluez5.address"), prop("device.string"))
	if address == "" {
		return ""
	}
	return "bluetooth:" + strings.ToLower(address)
}

// mixerOf returns the ALSA card of a device, or "".
func mixerOf(prop func(string) string) string {
	card := cmp.Or(prop("alsa.card"), prop("api.alsa.pcm.card"))
	if card == "" {
		return ""
	}
	return "controlC" + card
}

// plugged is false only if the server knows that nothing is in any of the jacks.
func plugged(ports []devices.Tri) devices.Tri {
	if len(ports) == 0 {
		return devices.Unknown
	}
	all := devices.False
	for _, p := range ports {
		switch {
		case p == devices.True:
			return devices.True
		case !p.Known():
			all = devices.Unknown
		}
	}
	return all
}

func effectsOf(p pulse.EchoCancel) map[devices.Field]devices.Tri {
	out := make(map[devices.Field]devices.Tri)
	for f, v := range map[devices.Field]devices.Tri{
		devices.EchoCancellation:     p.EchoCancellation,
		devices.NoiseSuppression:     p.NoiseSuppression,
		devices.AutomaticGainControl: p.GainControl,
	} {
		if v.Known() {
			out[f] = v
		}
	}
	return out
}
