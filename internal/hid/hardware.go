package hid

import "sidetone/internal/devices"

// Source is the name of the source that lists HID devices.
const Source = "hid"

// Hardware returns the devices that are present, also those that cannot be read: they prove that their units have not left.
func (t *Tracker) Hardware() []devices.Hardware {
	list := make([]devices.Hardware, 0, len(t.devices))
	for _, d := range t.devices {
		list = append(list, devices.Hardware{
			Source: Source, ID: d.device.Node, Name: d.device.Name, Plugged: d.plugged,
			Bus: d.device.Bus, VID: d.device.VID, PID: d.device.PID, Serial: d.device.Serial, Container: d.device.Container,
		})
	}
	return list
}
