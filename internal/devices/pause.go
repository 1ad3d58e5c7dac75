package devices

import (
	"maps"
	"slices"
)

// PauseList is the list that clients get while reporting is paused.
type PauseList string

// The lists of a pause. Neither says that a microphone is muted.
const (
	PauseEmpty   PauseList = "empty"   // no devices
	PauseUnmuted PauseList = "unmuted" // the devices, without hardware_mute
)

// Enum lists the names that a file may use.
func (PauseList) Enum() []string { return Names([]PauseList{PauseEmpty, PauseUnmuted}) }

// Paused returns what clients are told instead of s while reporting is paused. It does not change s.
func (s Snapshot) Paused(list PauseList) Snapshot {
	if list != PauseUnmuted {
		s.Devices = nil
		return s
	}
	s.Devices = slices.Clone(s.Devices)
	for i := range s.Devices {
		d := &s.Devices[i]
		if _, ok := d.Flags[HardwareMute]; ok {
			flags := maps.Clone(d.Flags)
			flags[HardwareMute] = Flag{}
			d.setFlags(flags)
		}
	}
	return s
}
