// Package timeline keeps the history of the last hours of an agent: what was plugged in, each flag and where it came from, each client
// and what it acknowledged, and conditions. A Ring collects them, within a limit of bytes; a Timeline is a copy of its content.
package timeline

import (
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Version is the version of the format of a Timeline. New fields do not change it.
const Version = 1

// Timeline is the answer to GET /v1/timeline. Times are by the wall clock as it is set now, so they never run backwards, however it was set
// in between.
type Timeline struct {
	Version int       `json:"version"`
	From    time.Time `json:"from"` // since when everything that happened is here
	To      time.Time `json:"to"`   // when it was asked for
	Lanes   []Lane    `json:"lanes"`
	Omitted bool      `json:"omitted,omitempty"` // there was no room for some lanes
}

// Lane is one thing whose value changes with time.
type Lane struct {
	Subject
	AtStart string   `json:"at_start,omitempty"` // its value at Timeline.From; "": it was not there yet
	Changes []Change `json:"changes"`            // in the order in which they happened
}

// Subject is what a lane is about.
type Subject struct {
	Kind      Kind              `json:"kind"`
	Client    string            `json:"client,omitempty"`  // of KindClient, KindListed and KindAcknowledged: its name
	Product   string            `json:"product,omitempty"` // its id in the catalogue
	Name      string            `json:"name,omitempty"`    // of the product
	Number    int               `json:"number,omitempty"`  // from 2 on, for further units of the product at the same time
	Device    string            `json:"device,omitempty"`  // of a flag: the microphone's id
	Flag      devices.Field     `json:"flag,omitempty"`
	Condition *health.Condition `json:"condition,omitempty"` // as it was last
}

// kinds lists them in the order in which they are shown.
var kinds = []Kind{KindAgent, KindProduct, KindFlag, KindClient, KindListed, KindAcknowledged, KindCondition}

// Kind says what the values of a lane are.
type Kind string

// The kinds of lane.
const (
	KindAgent        Kind = "agent"        // what happened to the agent itself: Started, Resumed, ClockSet
	KindProduct      Kind = "product"      // a unit of a product: Present or Absent
	KindFlag         Kind = "flag"         // a flag as the agent reports it: true, false, unknown, or Absent with its product
	KindClient       Kind = "client"       // a client: the state of the session with it, or Gone
	KindListed       Kind = "listed"       // a product in the list that a client has acknowledged: Present, Absent or unknown
	KindAcknowledged Kind = "acknowledged" // a flag in that list: true, false, unknown, or Absent
	KindCondition    Kind = "condition"    // something that is not in order: its severity, or Ended
)

// Values of lanes, beside the states of sessions and the severities of conditions.
const (
	True     = "true"
	False    = "false"
	Unknown  = "unknown"
	Present  = "present"
	Absent   = "absent"
	Gone     = "gone"
	Ended    = "ended"
	Started  = "started"
	Resumed  = "resumed"   // the machine has woken; Change.Detail says for how long it slept, if that is known
	ClockSet = "clock_set" // Change.Detail says by how much
)

// Change is a new value of a lane. If it stands for several changes, as in a storm of toggles, Count says for how many: From is
// the value before the first of them, and To the one after the last.
type Change struct {
	At     time.Time       `json:"at"`
	Until  time.Time       `json:"until,omitzero"` // of several: when the last of them was
	Count  int             `json:"count,omitempty"`
	From   string          `json:"from,omitempty"` // "": it was not there
	To     string          `json:"to"`
	Origin *devices.Origin `json:"origin,omitempty"` // of a known flag
	Detail string          `json:"detail,omitempty"` // for a client: the transport
}

// Client is the state of a client.
type Client struct {
	ID    string // distinguishes it from others at the same time
	Name  string // of its program
	State string
	Via   string // the transport
	Holds bool   // it has the list that it has acknowledged
}
