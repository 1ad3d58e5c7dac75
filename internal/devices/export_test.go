package devices

// What the tests that go through a catalogue need beside what is exported.
var (
	WireID     = wireID
	InputsLast = inputsLast
	Decides    = firstKnown
)

// Reassign gives readings to the units anew.
func (g *Grouping) Reassign(readings []Reading) {
	for _, inst := range g.all {
		inst.readings = nil
	}
	g.assignReadings(readings)
}
