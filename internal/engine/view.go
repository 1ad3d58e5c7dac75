package engine

import (
	"slices"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
)

// Condition is how a source is doing.
type Condition string

// The conditions of a source.
const (
	Starting Condition = "starting" // has not answered yet
	Working  Condition = "ok"
	Waiting  Condition = "waiting" // has never succeeded so far
	Failing  Condition = "failing" // worked before; its last good endpoints are kept for a while
)

// SourceStatus is the condition of one source.
type SourceStatus struct {
	Name      string             `json:"name"`
	Condition Condition          `json:"condition"`
	Reason    *health.Condition  `json:"reason,omitempty"` // why it cannot be read
	Notes     []health.Condition `json:"notes,omitempty"`  // limits of a source that works
	Endpoints int                `json:"endpoints"`
}

// View is what the Engine shows of its state.
type View struct {
	Snapshot devices.Snapshot `json:"snapshot"` // what is known; during a pause clients are told less
	Sources  []SourceStatus   `json:"sources"`
	Leases   []Lease          `json:"leases"`
	HID      []hid.Status     `json:"hid"`
	Paused   *Paused          `json:"paused,omitempty"` // nil: reporting is not paused
}

func (s *state) view() View {
	v := View{Snapshot: s.known, Paused: s.paused, Leases: s.viewLeases(), HID: s.hid.Status()}
	for _, src := range s.sources {
		v.Sources = append(v.Sources, src.status())
	}
	return v
}

func (src *source) status() SourceStatus {
	st := SourceStatus{Name: src.name, Condition: Working, Notes: src.notes, Endpoints: len(src.endpoints)}
	switch {
	case !src.answered:
		st.Condition = Starting
	case src.err != nil && !src.succeeded:
		st.Condition = Waiting
	case src.err != nil:
		st.Condition = Failing
	}
	st.Fail(src.err)
	return st
}

// Fail sets why a source cannot be read; nil changes nothing.
func (st *SourceStatus) Fail(err error) {
	if err == nil {
		return
	}
	reason := health.From(err)
	st.Reason = &reason
}

// logCondition writes one line when a source's condition has changed, none otherwise.
func (s *state) logCondition(before, after SourceStatus) {
	if before.Condition == after.Condition && health.Same(before.Reason, after.Reason) &&
		slices.EqualFunc(before.Notes, after.Notes, health.Condition.Equal) {
		return
	}
	s.touch()
	log := s.opts.Log.With("source", after.Name)
	switch after.Condition {
	case Waiting:
		log.Info("source is waiting", "reason", health.English.Phrase(*after.Reason))
	case Failing:
		log.Warn("source fails; its last good endpoints are kept for now",
			"err", health.English.Phrase(*after.Reason), "endpoints", after.Endpoints, "for", s.opts.StaleAfter)
	default:
		if before.Condition != after.Condition {
			log.Info("source works", "endpoints", after.Endpoints)
		}
	}
	for _, n := range after.Notes {
		if !slices.ContainsFunc(before.Notes, n.Equal) {
			log.Warn("source remarks", "note", health.English.Phrase(n))
		}
	}
}
