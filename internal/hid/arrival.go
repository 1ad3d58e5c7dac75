package hid

import (
	"time"

	"sidetone/internal/devices"
)

// route is a way by which a device says something. Only what comes by one route keeps its order.
type route struct {
	Node    string `json:"node,omitempty"`
	Channel int    `json:"channel,omitempty"` // of an input report
	Read    bool   `json:"read,omitempty"`    // the answer to a request to read a report
}

// arrival says when and by which route something came: it was sent between since and at.
type arrival struct {
	since, at time.Time
	route
}

// arrival returns that of a report.
func (e Event) arrival() arrival {
	return arrival{e.Since, e.At, route{Node: e.Node, Channel: e.Channel}}
}

// told is the time in which a device tells one press on two interfaces.
const told = 20 * time.Millisecond

// repetition is whether a press is not one of its own: the bounce of the last one, or the same one told on another interface.
type repetition int

const (
	ofItsOwn  repetition = iota
	repeated             // it is the last one again
	seemingly            // the same told on another interface, if each was read when it came: who could not read meanwhile cannot tell
	unclearly            // it depends on when within their arrivals the two were sent
)

// repeats returns whether a press repeats the last one.
func (s *sensor) repeats(a arrival) repetition {
	otherRoute := a.route != s.PressedOn
	limit := s.Debounce
	if otherRoute {
		limit = max(limit, told)
	}
	first, last, apart := s.pressedSince(), s.Pressed, a.at.Sub(s.Pressed)
	switch {
	case s.Pressed.IsZero() || !otherRoute && apart < 0: // in the latter case the clock was set back
		return ofItsOwn
	case a.since.Sub(last) >= limit || limit == 0:
		return ofItsOwn
	case max(a.at.Sub(first), last.Sub(a.since)) < limit:
		return repeated
	case otherRoute && apart.Abs() >= askGap:
		return ofItsOwn
	case apart.Abs() < limit && !otherRoute && !a.since.Before(last): // each was read when it came
		return repeated
	case apart.Abs() < limit && otherRoute:
		return seemingly
	}
	return unclearly
}

// pressedSince returns since when the last press may have been sent.
func (s *sensor) pressedSince() time.Time {
	if s.PressedSince.IsZero() {
		return s.Pressed
	}
	return s.PressedSince
}

// press flips a toggle whose state is known, unless it only repeats the last press.
func (s *sensor) press(a arrival) {
	repeats, since := s.repeats(a), a.since
	switch repeats {
	case repeated:
		return
	case seemingly:
		s.enter(onPressedAgain, s.Value, a.at)
		return
	case unclearly:
		since = s.pressedSince()
	}
	s.Pressed, s.PressedSince, s.PressedOn, s.PressedSinceReset = a.at, since, a.route, true
	switch {
	case repeats == unclearly:
		s.enter(onPressedUnclearly, devices.Unknown, a.at)
	case s.mayBeKnownTo(a):
		s.enter(onPressedLate, devices.Unknown, a.at)
	default:
		s.enter(onPressed, s.Value.Not(), a.at)
	}
}

// mayBeKnownTo reports whether the anchor may have known of a press when it stated the toggle's state on another route: the press may have
// been sent before that, or so soon after that it was overtaken.
func (s *sensor) mayBeKnownTo(a arrival) bool {
	return !s.Answered.IsZero() && a.route != s.AnsweredOn && a.since.Sub(s.Answered) < askGap && s.Answered.Sub(a.at) < askGap
}
