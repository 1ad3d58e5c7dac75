package windows

import (
	"regexp"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

// Hardware is what Windows' ids of a device say of it.
type Hardware struct {
	Bus      devices.Bus
	VID, PID string // 4 lower-case hex digits; "": not in the id
	Serial   string // as the device gives it; "": it gives none, or is no USB device
}

// buses are the enumerators of Windows whose devices have a bus that catalogues know.
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

// A Bluetooth device says whose number the vendor's is (0001: the Bluetooth SIG's, 0002: USB's), and puts it behind that.
var (
	vendorOf  = regexp.MustCompile(`(?i)(?:^|[\\&_])VID[_&](?:000[12])?([0-9A-F]{4})(?:[\\&_]|$)`)
	productOf = regexp.MustCompile(`(?i)[\\&_]PID[_&]([0-9A-F]{4})(?:[\\&_]|$)`)
)

// parseInstance reads the instance id of a device, ENUMERATOR\DEVICE\INSTANCE, as in
// USB\VID_046F&PID_0001\A1. It knows as much of any other text as of a device of a bus that it does not know: nothing.
//
// A last part with '&' in it was made up by Windows, for a device without a serial number, and for each interface of a USB device.
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

// InstanceOf returns the instance id in the path of one of the device's interfaces, \\?\usb#vid_046f&pid_0001#a1#{CLASS}\REFERENCE;
// "" where there is none. Windows tells the letters of both apart in no case.
func InstanceOf(path string) string {
	_, path, found := strings.Cut(path, `\\?\`)
	parts := strings.Split(path, "#")
	if !found || len(parts) < 4 {
		return ""
	}
	return strings.Join(parts[:3], `\`)
}

// ancestors is how far above one of its functions a device is looked for.
const ancestors = 4

// Identify is what an instance id says, and those of the devices above it as long as they are the same device: the serial number is
// that of the USB device, not of its interfaces, and a function of a Bluetooth device may lack all numbers. parent returns the id
// of the device above, "" where that is not known.
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

// unspecific are the containers that tell nothing: none at all, and the computer itself.
var unspecific = []string{"", "{00000000-0000-0000-0000-000000000000}", "{00000000-0000-0000-FFFF-FFFFFFFFFFFF}"}

// Container brings the ContainerId of a device, in braces, into the form of devices.Endpoint; "" where it groups nothing.
func Container(guid string) string {
	guid = strings.ToUpper(guid)
	if slices.Contains(unspecific, guid) {
		return ""
	}
	return guid
}
