package session

import "sidetone/internal/transition"

// offer is which list a client is sent. One device that it dislikes makes it refuse a whole list, with all that has changed for others
// (rule R34): then it is sent what it can be expected to accept, so that it keeps no flag that is over.
type offer string

const (
	offerNewest offer = "newest" // the newest list
	offerFormer offer = "former" // the list that it accepted last, as it is today
	offerEmpty  offer = "empty"
)

// verdict is the answer to an offer.
type verdict string

const (
	onTaken        verdict = "it accepts"
	onRefusedStale verdict = "it refuses, and may hold a flag that is over"
	onRefusedBare  verdict = "likewise, and nothing is left of the former list"
	onRefused      verdict = "it refuses, and holds no such flag"
)

// pause says when the next offer is made, unless the list changes before. A change makes it the newest list, at once.
type pause string

const (
	noPause   pause = "at once"
	untilNews pause = "when the list changes"
	growing   pause = "1 s after the newest list was refused, growing to 5 min"
)

var offered = transition.NewLine[offer, verdict, pause]

// offers decides what a client is offered next. docs/states.md shows it.
var offers = transition.Table[offer, verdict, pause]{
	offered(onTaken, []offer{offerNewest}, offerNewest, untilNews),
	offered(onTaken, nil, offerNewest, growing),
	offered(onRefusedStale, []offer{offerNewest}, offerFormer, noPause),
	offered(onRefusedStale, []offer{offerFormer}, offerEmpty, noPause),
	offered(onRefusedStale, nil, offerNewest, growing),
	offered(onRefusedBare, []offer{offerNewest, offerFormer}, offerEmpty, noPause),
	offered(onRefusedBare, nil, offerNewest, growing),
	offered(onRefused, nil, offerNewest, growing),
}
