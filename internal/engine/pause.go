package engine

import (
	"time"

	"sidetone/internal/devices"
)

// Pause asks to stop telling clients what is known for a while.
type Pause struct {
	For        Span `json:"for,omitempty"`         // 0: until somebody ends it
	UntilLogin bool `json:"until_login,omitempty"` // of older recordings: as if For were 0
}

// Paused is a pause that is in force.
type Paused struct {
	Until time.Time `json:"until,omitzero"` // zero: until somebody ends it
}

// remaining returns the rest of a pause.
func (p *Paused) remaining(now time.Time) *Pause {
	rest := &Pause{}
	if !p.Until.IsZero() {
		rest.For = Span(p.Until.Sub(now))
	}
	return rest
}

// pause begins a pause; nil ends one.
func (s *state) pause(p *Pause) {
	was := s.paused
	s.paused = nil
	if p != nil {
		s.paused = &Paused{}
		if p.For > 0 {
			s.paused.Until = s.now.Add(time.Duration(p.For))
		}
	}
	if was == nil && p == nil {
		return
	}
	s.dirty = true
	if p != nil {
		s.opts.Log.Info("reporting is paused", "until", s.paused.words())
	} else {
		s.opts.Log.Info("reporting goes on")
	}
	s.touch()
}

// words says until when, for the log.
func (p *Paused) words() string {
	if p.Until.IsZero() {
		return "somebody ends it"
	}
	return p.Until.Round(0).Format(time.RFC3339)
}

// subtractSleep shortens a pause by the time that the machine has slept, during which the clock of the process stood still.
func (s *state) subtractSleep(slept time.Duration) {
	if p := s.paused; p != nil && !p.Until.IsZero() {
		s.paused = &Paused{Until: p.Until.Add(-slept)}
		s.touch()
	}
}

// forClients returns what clients are told of what is known.
func (s *state) forClients(known devices.Snapshot) devices.Snapshot {
	if s.paused == nil {
		return known
	}
	return known.Paused(s.opts.PauseList)
}
