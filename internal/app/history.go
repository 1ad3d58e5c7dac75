package app

import (
	"cmp"
	"slices"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/report"
	"sidetone/internal/rpcclient"
	"sidetone/internal/timeline"
)

// History collects what happens in a recording, for a report. It is told of each record after that has been played.
type History struct {
	player  *engine.Player
	started time.Time
	begun   bool // the records of what was known before have been played
	program string
	now     time.Time // of the last record; those about clients may be later than the Engine's
	ring    *timeline.Ring
	lists   []devices.Snapshot // the last ones, which clients may still accept
	clients []timeline.Client
}

const (
	maxInFlight = 64 // lists that a client may be behind
	maxClients  = 64 // at the same time
)

// NewHistory follows a player that has not begun.
func NewHistory(p *engine.Player) *History {
	h := &History{player: p}
	p.Published, p.Known = h.published, h.known
	return h
}

// published may be called before the first record has been played completely.
func (h *History) published(s devices.Snapshot) {
	h.advance(h.player.Now())
	if h.lists = append(h.lists, s); len(h.lists) > maxInFlight {
		h.lists = h.lists[1:]
	}
}

func (h *History) known(s devices.Snapshot) {
	h.advance(h.player.Now())
	h.ring.Snapshot(s)
}

// advance advances the time, which never runs backwards.
func (h *History) advance(now time.Time) {
	if now.After(h.now) {
		h.now = now
	}
	if h.ring == nil {
		h.started = h.now
		h.ring = timeline.NewRing(timeline.Clock{
			Now: func() time.Time { return h.now }, Elapsed: func() time.Duration { return h.now.Sub(h.started) },
		}, "")
	}
}

// Played takes the record that has just been played.
func (h *History) Played(r engine.Record) {
	h.advance(h.player.Now())
	switch {
	case r.Header != nil:
		h.program = r.Header.Program
	case r.Resumed != nil:
		h.ring.Resumed()
	case r.Client != nil:
		h.advance(h.started.Add(time.Duration(r.T)))
		h.client(*r.Client)
	}
	h.begun = h.begun || r.Begin != nil || r.Header != nil && !r.Header.Ticks
	changes := r.Begin != nil || r.Observe != nil || r.Configure != nil || r.Pause != nil || r.Unpause
	if h.begun && (changes || r.HID != nil && r.HID.Kind != hid.Report) {
		h.ring.Conditions(h.conditions(h.status()))
	}
}

// client notes what has happened with a client.
func (h *History) client(c engine.Client) {
	now := timeline.Client{ID: c.To, Name: cmp.Or(c.To, "?"), State: c.Event, Holds: holds(rpcclient.State(c.Event))}
	switch c.Event {
	case "delivered":
		if i := slices.IndexFunc(h.lists, func(s devices.Snapshot) bool { return s.Generation == c.Generation }); i >= 0 {
			h.ring.Acknowledged(now, h.lists[i])
		}
		return
	case "gone":
		h.clients = slices.DeleteFunc(h.clients, func(o timeline.Client) bool { return o.ID == now.ID })
	default:
		if i := slices.IndexFunc(h.clients, func(o timeline.Client) bool { return o.ID == now.ID }); i >= 0 {
			h.clients[i] = now
		} else {
			h.clients = append(h.clients[max(0, len(h.clients)+1-maxClients):], now)
		}
	}
	h.ring.Clients(func() []timeline.Client { return h.clients })
}

func (h *History) status() control.Status {
	st := statusOf(h.player.View())
	st.Pause = pauseOf(h.player.View().Paused, "")
	_, resolver := h.player.Inputs()
	st.Version, st.Vendor, st.Started = h.program, resolver.Catalogue.Vendor.Name, h.started
	return st
}

// conditions returns what the agent would have said of itself, without clients: a recording does not hold enough about those.
func (h *History) conditions(st control.Status) []health.Condition {
	in, _ := h.player.Inputs()
	found := doctor.Standing(factsOf(st, h.player.View().Snapshot.Devices, in, h.now))
	return slices.DeleteFunc(found, func(c health.Condition) bool { return c.Code.Area() == "clients" })
}

// Report returns the input of a report, once records have been played.
func (h *History) Report(file string) report.Input {
	st := h.status()
	st.Conditions = control.ConditionsOf(h.conditions(st))
	return report.Input{Status: st, Timeline: h.ring.Timeline(), Recording: file, Now: h.now.Local(), Made: time.Now()}
}
