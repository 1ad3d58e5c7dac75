package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
)

// FieldDifference is one difference between a list and its replay.
type FieldDifference struct {
	Device   string `json:"device,omitempty"` // type and id; "": it is not about a device
	Field    string `json:"field,omitempty"`  // "": the whole device
	Recorded any    `json:"recorded,omitempty"`
	Replayed any    `json:"replayed,omitempty"` // absent, as above: there is no value
}

func (d FieldDifference) String() string {
	switch {
	case d.Field != "":
		return strings.TrimPrefix(fmt.Sprintf("%s: %s recorded %s, replayed %s", d.Device, d.Field, said(d.Recorded), said(d.Replayed)), ": ")
	case d.Recorded == nil:
		return d.Device + ": not in the recording"
	default:
		return d.Device + ": not in the replay"
	}
}

func said(value any) string {
	if value == nil {
		return "nothing"
	}
	return jsonText(value)
}

// fieldsThatDiffer returns what differs between two lists; for an exact replay, times and generations too.
func fieldsThatDiffer(recorded, replayed Record, exact bool) (out []FieldDifference) {
	if a, b := recorded.List.Generation, replayed.List.Generation; exact && a != b {
		out = append(out, FieldDifference{Field: "generation", Recorded: a, Replayed: b})
	}
	if exact && recorded.T != replayed.T {
		out = append(out, FieldDifference{Field: "t", Recorded: time.Duration(recorded.T).String(), Replayed: time.Duration(replayed.T).String()})
	}
	namesA, a := byName(recorded.List.Devices)
	namesB, b := byName(replayed.List.Devices)
	for _, name := range slices.Concat(namesA, slices.DeleteFunc(slices.Clone(namesB), func(n string) bool { return a[n] != nil })) {
		was, is := a[name], b[name]
		if was == nil || is == nil {
			out = append(out, FieldDifference{Device: name, Recorded: orNil(was), Replayed: orNil(is)})
			continue
		}
		both := maps.Clone(was)
		maps.Copy(both, is)
		for _, field := range slices.Sorted(maps.Keys(both)) {
			if !reflect.DeepEqual(was[field], is[field]) {
				out = append(out, FieldDifference{Device: name, Field: field, Recorded: was[field], Replayed: is[field]})
			}
		}
	}
	if len(out) == 0 { // all the same, in another order
		out = append(out, FieldDifference{Field: "order", Recorded: namesA, Replayed: namesB})
	}
	return out
}

// byName returns the names of devices in order, and the fields of each.
func byName(list []devices.Device) (names []string, said map[string]map[string]any) {
	said = make(map[string]map[string]any)
	for _, d := range list {
		name := fmt.Sprintf("%s %q", d.Type, d.ID)
		var fields map[string]any
		if text, err := json.Marshal(d); err == nil && json.Unmarshal(text, &fields) == nil {
			names, said[name] = append(names, name), fields
		}
	}
	return names, said
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
