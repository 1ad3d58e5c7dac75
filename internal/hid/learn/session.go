package learn

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"sidetone/internal/hid"
)

// Mark is a statement by the user of a headset during a Session. It ends a phase and describes what
// happened in it.
type Mark string

// The marks.
const (
	MarkUnmuted  Mark = "unmuted"   // the microphone is not muted now
	MarkMuted    Mark = "muted"     // it is muted now
	MarkHandsOff Mark = "hands_off" // since the last mark, nobody has touched the headset
	MarkOther    Mark = "other"     // since the last mark, only controls other than mute were used
)

// tellsState reports whether m tells the state of the microphone.
func (m Mark) tellsState() bool { return m == MarkUnmuted || m == MarkMuted }

// Step is one line of a Session: an Event or a Mark.
type Step struct {
	hid.Event      // of a mark only At is set
	Mark      Mark `json:"mark"` // empty: this is an event
}

// MarshalJSON returns the event's JSON, or {"mark":"muted","at":"..."}.
func (s Step) MarshalJSON() ([]byte, error) {
	if s.Mark == "" {
		return json.Marshal(s.Event)
	}
	return json.Marshal(struct {
		Mark Mark      `json:"mark"`
		At   time.Time `json:"at,omitzero"`
	}{s.Mark, s.At})
}

// Session is the events of a headset while its user pressed mute, with the user's marks, in order of time.
// As a file it has one JSON object per line, each a Step.
type Session []Step

// Write writes the session in the file format.
func (s Session) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, step := range s {
		if err := e.Encode(step); err != nil {
			return err
		}
	}
	return nil
}

// Limits of a session file, which is a few minutes of one headset.
const (
	maxLine  = 1 << 20 // bytes; a descriptor in hex has 128 KiB at most
	maxSteps = 1 << 18
)

// ReadSession reads a session file, skipping empty lines. An error says in which line, or is that of r.
func ReadSession(r io.Reader) (Session, error) {
	var s Session
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		if len(lines.Bytes()) == 0 {
			continue
		}
		var step Step
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			return nil, fmt.Errorf("line %d: not a line of JSON with an event or a mark: %w", n, err)
		}
		if problem := step.problem(); problem != "" {
			return nil, fmt.Errorf("line %d: %s", n, problem)
		}
		if len(s) == maxSteps {
			return nil, fmt.Errorf("line %d: a session has at most %d lines", n, maxSteps)
		}
		s = append(s, step)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d bytes", n+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	return s, nil
}

var fourHex = regexp.MustCompile(`^[0-9a-f]{4}$`)

// problem returns what is wrong with a step; empty: nothing.
func (s Step) problem() string {
	switch {
	case s.Mark.tellsState(), s.Mark == MarkHandsOff, s.Mark == MarkOther:
		return ""
	case s.Mark != "":
		return fmt.Sprintf("unknown mark %q: want unmuted, muted, hands_off or other", s.Mark)
	}
	switch s.Kind {
	case hid.Attached, hid.Denied:
	case hid.Failed, hid.Gone, hid.Report, hid.Lost, hid.Answer:
		return ""
	default:
		return fmt.Sprintf("neither a mark nor an event: unknown happening %q", s.Kind)
	}
	switch d := s.Device; {
	case d == nil:
		return fmt.Sprintf("%s without its device", s.Kind)
	case !fourHex.MatchString(d.VID) || !fourHex.MatchString(d.PID):
		return fmt.Sprintf("vid %q and pid %q: want 4 lower-case hex digits each", d.VID, d.PID)
	case d.Interface < -1 || d.Interface > 255:
		return fmt.Sprintf("interface %d: want 0 to 255, or -1 for none", d.Interface)
	}
	return ""
}

// Suffices reports whether the session has enough presses and marks for Infer.
func (s Session) Suffices() bool {
	_, err := parseSession(s)
	return err == nil
}
