package world

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// violation says that an invariant did not hold.
type violation struct {
	At     time.Duration `json:"at"`     // since the scenario began
	Rule   string        `json:"rule"`   // the name of the invariant in docs/world.md
	Client int           `json:"client"` // index of the one it is about; ofDesk: none
	What   string        `json:"what"`
}

func (v violation) String() string {
	if v.Client != ofDesk {
		return fmt.Sprintf("%v: %s: client %d %s", v.At, v.Rule, v.Client, v.What)
	}
	return fmt.Sprintf("%v: %s: %s", v.At, v.Rule, v.What)
}

// story records what happens in a run, for people and to compare runs.
type story struct {
	began    time.Time
	detailed bool // events are recorded, too, not violations only

	mu         sync.Mutex
	lines      []line
	violations []violation
}

// line is one event, at the desk or at a client.
type line struct {
	at     time.Duration
	client int // index; ofDesk: none
	text   string
}

// ofDesk stands for no client.
const ofDesk = -1

// note adds a line.
func (s *story) note(client int, format string, args ...any) {
	if s.detailed {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lines = append(s.lines, line{time.Since(s.began), client, fmt.Sprintf(format, args...)})
	}
}

// asJSON formats a value as JSON, only if the line is recorded.
type asJSON struct{ any }

func (v asJSON) String() string { return text(v.any) }

// text returns v as JSON.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// digest formats a long text as a hash.
type digest string

func (d digest) String() string {
	sum := sha256.Sum256([]byte(d))
	return hex.EncodeToString(sum[:8])
}

// violate records that an invariant does not hold.
func (s *story) violate(rule, format string, args ...any) {
	s.record(violation{Rule: rule, Client: ofDesk, What: fmt.Sprintf(format, args...)})
}

// record records a violation as of now.
func (s *story) record(v violation) {
	v.At = time.Since(s.began)
	s.note(ofDesk, "VIOLATION %v", v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, v)
}

// report returns the story for people.
func (s *story) report() []string {
	var out []string
	for _, l := range s.lines {
		out = append(out, fmt.Sprintf("%v client %d: %s", l.at, l.client, l.text))
	}
	return out
}

// comparable returns what happened at the desk, with times, and what each client was sent, in order but without times. Equal seeds
// give equal texts. Times at clients may differ by microseconds where two timers of the agent end at the same instant.
func (s *story) comparable() string {
	slices.SortStableFunc(s.lines, func(a, b line) int { return cmp.Compare(a.client, b.client) })
	var b strings.Builder
	for _, l := range s.lines {
		if l.client == ofDesk {
			fmt.Fprintf(&b, "%v ", l.at)
		}
		fmt.Fprintf(&b, "client %d: %s\n", l.client, l.text)
	}
	return b.String()
}
