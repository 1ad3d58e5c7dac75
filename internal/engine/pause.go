package engine

import (
	"time"

	"sidetone/internal/devices"
)

// Pause has clients told nothing of what is known, for a while.
type Pause struct {
	For        Span `json:"for,omitempty"`         // 0: until somebody ends it
	UntilLogin bool `json:"until_login,omitempty"` // as which it was meant: whoever keeps it lets it end with the user's session
}

// Paused is a pause that is in force.
type Paused struct {
	Until      time.Time `json:"until,omitzero"` // zero: until somebody ends it
	UntilLogin bool      `json:"until_login,omitempty"`
}

// remaining is what a pause has before it.
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

// words are until when.
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

func (s *state) expirePause() {
	if p := s.paused; p != nil && !p.Until.IsZero() && !s.now.Before(p.Until) {
		s.pause(nil)
	}
}

// subtractSleep takes off a pause what the machine has slept, which the clock of the process has not seen.
func (s *state) subtractSleep(slept time.Duration) {
	if p := s.paused; p != nil && !p.Until.IsZero() {
		s.paused = &Paused{Until: p.Until.Add(-slept)}
		s.touch()
	}
}

// forClients is what clients are told of what is known.
func (s *state) forClients(known devices.Snapshot) devices.Snapshot {
	if s.paused == nil {
		return known
	}
	return known.Paused(s.opts.PauseList)
}
