package engine

import "sidetone/internal/transition"

// presence is the state of an incarnation. See transitions for how it changes.
type presence string

// The states of an incarnation.
const (
	listed  presence = "listed"  // its endpoints are there
	silent  presence = "silent"  // only its card or a HID device is: a session manager has taken its endpoints away, or not made them yet
	leaving presence = "leaving" // nothing of it is, and its endpoints are still reported for the removal grace
	gone    presence = "gone"    // it has surely left, or is switched off: nothing that was said of it counts any more
)

// sighting is what a unit looks like after an event.
type sighting string

const (
	seenListed sighting = "its endpoints are there, and something of it was there all the while"
	seenSilent sighting = "only its card or HID devices are there, and one of them was all the while"
	backListed sighting = "its endpoints are there, and nothing shows that it has stayed"
	backSilent sighting = "only its card or HID devices are there, and nothing shows that it has stayed"
	lingers    sighting = "nothing of it is there, and its endpoints are still reported"
	absent     sighting = "nothing of it is there, or its link is down"
)

// sequel is what a sighting means for what was said of the unit.
type sequel string

const (
	same    sequel = ""
	leaves  sequel = "what is said of it from now on is not kept"
	another sequel = "it is another incarnation: what was said before has ended"
	ends    sequel = "what was said of it has ended"
)

var line = transition.NewLine[presence, sighting, sequel]

// transitions decides the state after every sighting. docs/states.md shows it.
var transitions = transition.Table[presence, sighting, sequel]{
	line(seenListed, []presence{leaving, gone}, listed, another),
	line(seenListed, nil, listed, same),
	line(seenSilent, []presence{leaving, gone}, silent, another),
	line(seenSilent, nil, silent, same),
	line(backListed, nil, listed, another),
	line(backSilent, nil, silent, another),
	line(lingers, []presence{leaving, gone}, "", same),
	line(lingers, nil, leaving, leaves),
	line(absent, []presence{gone}, "", same),
	line(absent, nil, gone, ends),
}
