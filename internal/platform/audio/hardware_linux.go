package audio

import (
	"fmt"

	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
)

// Hardware returns the cards that the sound server has, whatever endpoints their profiles make.
func (a *source) Hardware() []devices.Hardware { return hardwareOf(a.last, a.findUSB, a.connections) }

// hardwareOf identifies each card as its endpoints are. connections is how many connections to a sound server there have been.
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

// cardID returns the id of a card's presence: the kernel gives a USB device another number each time it is plugged in, whatever becomes of
// the sound server. The index of another card is another one too, but each run of a server counts anew: after a restart nobody knows
// whether the card was there all the while.
func cardID(c pulse.Card, findUSB usbFinder, connections int) string {
	if path := c.Properties["sysfs.path"]; path != "" {
		if usb, ok := findUSB(path); ok && usb.Number != "" {
			return usb.Container + "#" + usb.Number
		}
	}
	return fmt.Sprintf("%d/%d", connections, c.Index)
}
