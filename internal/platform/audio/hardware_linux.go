package audio

import (
	"strconv"

	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
)

// Hardware returns the cards that the sound server has, whatever endpoints their profiles make.
func (a *source) Hardware() []devices.Hardware { return hardwareOf(a.last, a.findUSB) }

// hardwareOf identifies each card as its endpoints are. A card that is plugged in anew has another index.
func hardwareOf(s pulse.Snapshot, findUSB usbFinder) (list []devices.Hardware) {
	for _, c := range s.Cards {
		e := endpointOf(pulse.Device{Card: c.Index}, s.Cards, findUSB)
		list = append(list, devices.Hardware{
			ID: strconv.FormatUint(uint64(c.Index), 10), Name: c.Properties["device.description"],
			Sound: true, Bus: e.Bus, VID: e.VID, PID: e.PID, Serial: e.Serial, Container: e.Container,
		})
	}
	return list
}
