package engine

import (
	"time"

	"sidetone/internal/devices"
)

// Pause asks to stop telling clients what is known for a while.
type Pause struct {
	For        Span `json:"for,omitempty"`         // 0: until somebody ends it
	UntilLogin bool `json:"until_login,omitempty"` // for people, and for whoever keeps it: it is not to outlive the user's session
}

// Paused is a pause that is in force.
type Paused struct {
	Until      time.Time `json:"until,omitzero"` // zero: until somebody ends it
	UntilLogin bool      `json:"until_login,omitempty"`
}

// remaining returns the rest of a pause.
func (p *Paused) remaining(now time.Time) *Pause {
	rest := &Pause{UntilLogin: p.UntilLogin}
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
		s.paused = &Paused{UntilLogin: p.UntilLogin}
		if p.For > 0 {
			s.paused.Until = s.now.Add(time.Duration(p.For))
		}
	}
	if was == nil && p == nil {
		return
	}
	if s.dirty = true; p != nil {
		s.opts.Log.Info("reporting is paused", "until", s.paused.words())
	} else {
		s.opts.Log.Info("reporting goes on")
	}
	s.touch()
}

// words says until when, for the log.
func (p *Paused) words() string {
	switch {
	case !p.Until.IsZero():
		return p.Until.Round(0).Format(time.RFC3339)
	case p.UntilLogin:
		return "the next log-in"
	default:
		return "somebody ends it"
	}
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
