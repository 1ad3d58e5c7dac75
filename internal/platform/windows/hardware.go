// Package windows holds what several subjects share on Windows: device ids and properties, and the arrival and removal of devices.
package windows

import (
	"regexp"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

// Hardware is what the ids of a device on Windows say about it.
type Hardware struct {
	Bus      devices.Bus
	VID, PID string // 4 lower-case hex digits; "": not in the id
	Serial   string // of a USB device that has one
}

// buses maps Windows' enumerators to the buses that catalogues know.
var buses = map[string]devices.Bus{
	"USB":         devices.USB,
	"BTHENUM":     devices.Bluetooth,
	"BTHHFENUM":   devices.Bluetooth,
	"BTHLE":       devices.Bluetooth,
	"BTHLEDEVICE": devices.Bluetooth,
	"PCI":         devices.PCI,
	"HDAUDIO":     devices.PCI,
	"INTELAUDIO":  devices.PCI,
	"ROOT":        devices.Virtual,
	"SW":          devices.Virtual,
	"SWD":         devices.Virtual,
}

// A Bluetooth id has the source of its vendor number (0001: the Bluetooth SIG, 0002: USB) in front of it.
var (
	vendorOf  = regexp.MustCompile(`(?i)(?:^|[\\&_])VID[_&](?:000[12])?([0-9A-F]{4})(?:[\\&_]|$)`)
	productOf = regexp.MustCompile(`(?i)[\\&_]PID[_&]([0-9A-F]{4})(?:[\\&_]|$)`)
)

// parseInstance parses the instance id of a device, ENUMERATOR\DEVICE\INSTANCE, as in USB\VID_046F&PID_0001\A1. The result is empty for
// any other text or an unknown bus.
//
// Windows makes up a last part that contains '&', for a device without a serial number and for each interface of a USB device.
func parseInstance(id string) Hardware {
	parts := strings.Split(id, `\`)
	if len(parts) != 3 {
		return Hardware{}
	}
	h := Hardware{Bus: buses[strings.ToUpper(parts[0])]}
	if h.Bus != devices.USB && h.Bus != devices.Bluetooth {
		return h
	}
	vid, pid := vendorOf.FindStringSubmatch(parts[1]), productOf.FindStringSubmatch(parts[1])
	if vid != nil && pid != nil {
		h.VID, h.PID = strings.ToLower(vid[1]), strings.ToLower(pid[1])
	}
	if h.Bus == devices.USB && !strings.Contains(parts[2], "&") {
		h.Serial = parts[2]
	}
	return h
}

// InstanceOf returns the instance id in the path of a device interface, \\?\usb#vid_046f&pid_0001#a1#{CLASS}\REFERENCE, or "". Both are
// case-insensitive.
func InstanceOf(path string) string {
	_, path, found := strings.Cut(path, `\\?\`)
	parts := strings.Split(path, "#")
	if !found || len(parts) < 4 {
		return ""
	}
	return strings.Join(parts[:3], `\`)
}

// ancestors is how many levels above one of its functions a device is searched for.
const ancestors = 4

// Identify returns what an instance id says, and the ids of the devices above it that are the same device: the USB device has the serial
// number, not its interfaces, and a function of a Bluetooth device may have no numbers. parent returns the id of the parent device, or
// "".
func Identify(id string, parent func(id string) string) Hardware {
	h := parseInstance(id)
	for range ancestors {
		if h.Bus != devices.USB && h.Bus != devices.Bluetooth || h.VID != "" && (h.Bus != devices.USB || h.Serial != "") {
			break
		}
		id = parent(id)
		above := parseInstance(id)
		if above.Bus != h.Bus || above.VID == "" || h.VID != "" && (above.VID != h.VID || above.PID != h.PID) {
			break
		}
		h = above
	}
	return h
}

// unspecific are containers that group nothing: no container, and the computer itself.
var unspecific = []string{"", "{00000000-0000-0000-0000-000000000000}", "{00000000-0000-0000-FFFF-FFFFFFFFFFFF}"}

// Container converts the ContainerId of a device, in braces, to the form of devices.Endpoint; "" if it groups nothing.
func Container(guid string) string {
	guid = strings.ToUpper(guid)
	if slices.Contains(unspecific, guid) {
		return ""
	}
	return guid
}
