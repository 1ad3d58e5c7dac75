package devices

import "slices"

// PauseList is what clients have while nothing is to be reported.
type PauseList string

// The lists of a pause. Neither says of a microphone that it is muted.
const (
	PauseEmpty   PauseList = "empty"   // no devices
	PauseUnmuted PauseList = "unmuted" // the devices, and no word about their mute
)

// Enum lists them.
func (PauseList) Enum() []string { return []string{string(PauseEmpty), string(PauseUnmuted)} }

// Paused is what clients are told instead of s while nothing is to be reported. s stays as it is.
func (s Snapshot) Paused(list PauseList) Snapshot {
	if list != PauseUnmuted {
		s.Devices = nil
		return s
	}
	s.Devices = slices.Clone(s.Devices)
	for i := range s.Devices {
		d := &s.Devices[i]
		if _, may := d.Flags[HardwareMute]; may {
			flags := map[Field]Flag{HardwareMute: {}}
			for f, flag := range d.Flags {
				if f != HardwareMute {
					flags[f] = flag
				}
			}
			d.setFlags(flags)
		}
	}
	return s
}
