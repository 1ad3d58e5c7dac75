package devices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Change is one difference between two snapshots.
type Change struct {
	Reason  string // the change in words: "Acme Headset 700: mic muted"
	Removed bool   // devices are gone
}

// Diff returns how a and b differ on the wire: first removals, then additions, then changes.
// Diff(a, a) is empty.
func Diff(a, b Snapshot) []Change {
	before, after := index(a), index(b)
	var out []Change
	out = append(out, presence(a, after, true)...)
	out = append(out, presence(b, before, false)...)
	for _, r := range b.Devices {
		if old, ok := before[r.key()]; ok {
			out = append(out, compareReports(old, r)...)
		}
	}
	if len(out) == 0 && !SameWire(a.Wire(), b.Wire()) {
		out = append(out, Change{Reason: "order of devices changed"})
	}
	return out
}

// Reasons joins the reasons of the changes into one line, without duplicates: several endpoints may share
// the mute of one microphone.
func Reasons(changes []Change) string {
	var parts []string
	for _, c := range changes {
		if !slices.Contains(parts, c.Reason) {
			parts = append(parts, c.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

// wireKey is how the client identifies devices.
type wireKey struct {
	t  Type
	id string
}

func (r Report) key() wireKey { return wireKey{r.Type, r.ID} }

func index(s Snapshot) map[wireKey]Report {
	m := make(map[wireKey]Report, len(s.Devices))
	for _, r := range s.Devices {
		m[r.key()] = r
	}
	return m
}

// presence lists the devices of s that are not in other, one change for each physical unit.
func presence(s Snapshot, other map[wireKey]Report, removed bool) []Change {
	var first []Report                 // of each unit
	types := make(map[string][]string) // by unit
	for _, r := range s.Devices {
		if _, ok := other[r.key()]; ok {
			continue
		}
		if types[r.Unit] == nil {
			first = append(first, r)
		}
		types[r.Unit] = append(types[r.Unit], string(r.Type))
	}
	word := "added"
	if removed {
		word = "removed"
	}
	var out []Change
	for _, r := range first {
		out = append(out, Change{fmt.Sprintf("%s %s (%s)", r.Model.Name, word, strings.Join(types[r.Unit], ", ")), removed})
	}
	return out
}

func compareReports(old, r Report) []Change {
	var out []Change
	for _, f := range Fields {
		if to := r.Flags[f].Value; to != old.Flags[f].Value {
			out = append(out, Change{Reason: flagReason(r, f, to)})
		}
	}
	if old.Vendor != r.Vendor || old.Model != r.Model || !slices.Equal(old.Related, r.Related) {
		out = append(out, Change{Reason: fmt.Sprintf("%s (%s): description changed", r.Model.Name, r.Type)})
	}
	return out
}

var fieldWords = map[Field][3]string{
	HardwareMute:         {"mic mute unknown", "mic unmuted", "mic muted"},
	EchoCancellation:     {"echo cancellation unknown", "echo cancellation off", "echo cancellation on"},
	NoiseSuppression:     {"noise suppression unknown", "noise suppression off", "noise suppression on"},
	AutomaticGainControl: {"gain control unknown", "gain control off", "gain control on"},
}

func flagReason(r Report, f Field, to Tri) string {
	s := cmp.Or(r.Model.Name, r.ID) + ": " + fieldWords[f][to]
	origin := r.Flags[f].Origin
	if origin.Shared && to.Known() {
		s += " by the button or in the sound settings"
	}
	if origin.Via != "" {
		s += " (" + origin.Via + ")"
	}
	return s
}
