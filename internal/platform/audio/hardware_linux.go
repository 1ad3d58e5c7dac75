package audio

import (
	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
)

// hardwareOf returns the cards that the sound server has, whatever endpoints their profiles make, each identified as its endpoints are.
// connections is how many connections to a sound server there have been.
func hardwareOf(s pulse.Snapshot, findUSB usbFinder, connections int) (list []devices.Hardware) {
	for _, c := range s.Cards {
		e := endpointOf(pulse.Device{Card: c.Index}, s.Cards, findUSB)
		list = append(list, devices.Hardware{
			ID: cardID(c, findUSB, connections), Name: c.Properties["device.description"],
			Sound: true, OutputsOnly: c.OutputsOnly, Bus: e.Bus, VID: e.VID, PID: e.PID, Serial: e.Serial, Container: e.Container,
		})
	}
	return list
}

// cardID returns the id of a card's presence.
func cardID(c pulse.Card, findUSB usbFinder, connections int) string {
	device := ""
	if path := c.Properties["sysfs.path"]; path != "" {
		if usb, ok := findUSB(path); ok && usb.Number != "" {
			device = usb.Container + "#" + usb.Number
		}
	}
	return c.Presence(device, connections)
}
