package devices

import "slices"

// What the tests that go through a catalogue need beside what is exported.
var (
	WireID     = wireID
	InputsLast = inputsLast
)

// Decides returns the flag that the ranked candidates result in.
func Decides(ranked []Considered) Flag {
	if i := slices.IndexFunc(ranked, Considered.known); i >= 0 {
		return ranked[i].Flag
	}
	return Flag{}
}

// Reassign gives readings to the units anew.
func (g *Grouping) Reassign(readings []Reading) {
	for _, inst := range g.all {
		inst.readings = nil
	}
	g.assignReadings(readings)
}
