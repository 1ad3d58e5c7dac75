package devices

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ChangeKind is what happened to a device.
type ChangeKind string

// The kinds of change.
const (
	Added     ChangeKind = "added"
	Removed   ChangeKind = "removed"
	FlagSet   ChangeKind = "flag"      // a flag took another value
	Described ChangeKind = "described" // vendor, model or related differ
	Reordered ChangeKind = "reordered" // only the order of the list differs
)

// Change is one difference between two snapshots.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Model    string     `json:"model,omitempty"`
	Types    []Type     `json:"types,omitempty"`
	IDs      []string   `json:"ids,omitempty"`
	Field    Field      `json:"field,omitempty"`
	From, To Tri        `json:"-"`
	Origin   Origin     `json:"origin,omitzero"`
	Reason   string     `json:"reason"` // the change in words: "Acme Headset 700: mic muted"
}

// String is the reason.
func (c Change) String() string { return c.Reason }

// Diff returns how a and b differ on the wire: first removals, then additions, then changes.
// Diff(a, a) is empty.
func Diff(a, b Snapshot) []Change {
	before, after := index(a), index(b)
	var out []Change
	out = append(out, presence(a, after, Removed)...)
	out = append(out, presence(b, before, Added)...)
	for _, r := range b.Devices {
		if old, ok := before[r.key()]; ok {
			out = append(out, compareReports(old, r)...)
		}
	}
	if len(out) == 0 && !SameWire(a.Wire(), b.Wire()) {
		out = append(out, Change{Kind: Reordered, Reason: "order of devices changed"})
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
func presence(s Snapshot, other map[wireKey]Report, kind ChangeKind) []Change {
	var out []Change
	at := make(map[string]int)
	for _, r := range s.Devices {
		if _, ok := other[r.key()]; ok {
			continue
		}
		i, ok := at[r.Unit]
		if !ok {
			i = len(out)
			at[r.Unit] = i
			out = append(out, Change{Kind: kind, Model: r.Model.Name})
		}
		out[i].Types = append(out[i].Types, r.Type)
		out[i].IDs = append(out[i].IDs, r.ID)
	}
	for i := range out {
		out[i].Reason = fmt.Sprintf("%s %s (%s)", out[i].Model, kind, strings.Join(Names(out[i].Types), ", "))
	}
	return out
}

func compareReports(old, r Report) []Change {
	var out []Change
	base := Change{Model: r.Model.Name, Types: []Type{r.Type}, IDs: []string{r.ID}}
	for _, f := range Fields {
		from, to := old.Flags[f].Value, r.Flags[f].Value
		if from == to {
			continue
		}
		c := base
		c.Kind, c.Field, c.From, c.To, c.Origin = FlagSet, f, from, to, r.Flags[f].Origin
		c.Reason = flagReason(r, f, to)
		out = append(out, c)
	}
	if old.Vendor != r.Vendor || old.Model != r.Model || !slices.Equal(old.Related, r.Related) {
		c := base
		c.Kind = Described
		c.Reason = fmt.Sprintf("%s (%s): description changed", r.Model.Name, r.Type)
		out = append(out, c)
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
	who := cmp.Or(r.Model.Name, r.ID)
	s := who + ": " + fieldWords[f][to]
	origin := r.Flags[f].Origin
	if origin.Shared && to.Known() {
		s += " " + sharedMute
	}
	if origin.Via != "" {
		s += " (" + origin.Via + ")"
	}
	return s
}
