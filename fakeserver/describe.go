package fakeserver

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Describe says in one line what became of a device list: which devices came
// and went, which flags changed. It holds nothing that could act on a terminal.
func Describe(before, after []Device) string {
	switch {
	case len(before) == 0 && len(after) == 0:
		return "list empty"
	case len(after) == 0:
		return "list emptied"
	}
	d := newDifference(before, after)
	var parts []string
	if len(d.added) > 0 {
		parts = append(parts, d.count("+", d.added))
	}
	if len(d.removed) > 0 {
		parts = append(parts, d.count("-", d.removed))
	}
	parts = append(parts, d.changed...)
	if d.reordered {
		parts = append(parts, "order changed")
	}
	if len(parts) == 0 {
		return "unchanged"
	}
	return strings.Join(parts, "; ")
}

// A key tells the devices of a list apart. Ids need not be unique, so equal
// ones are counted.
type key struct {
	kind, id string
	nth      int
}

type difference struct {
	names          map[string]map[key]bool // which devices bear a name
	added, removed []entry
	changed        []string
	reordered      bool
}

type entry struct {
	key    key
	device Device
}

func newDifference(before, after []Device) *difference {
	was, is := entries(before), entries(after)
	d := &difference{names: map[string]map[key]bool{}}
	for _, e := range slices.Concat(was, is) {
		name := nameOf(e.device)
		if d.names[name] == nil {
			d.names[name] = map[key]bool{}
		}
		d.names[name][e.key] = true
	}
	var stayedWas, stayedIs []key
	now := index(is)
	for _, e := range was {
		if _, ok := now[e.key]; ok {
			stayedWas = append(stayedWas, e.key)
		} else {
			d.removed = append(d.removed, e)
		}
	}
	old := index(was)
	for _, e := range is {
		before, ok := old[e.key]
		if !ok {
			d.added = append(d.added, e)
			continue
		}
		stayedIs = append(stayedIs, e.key)
		if c := changes(before, e.device); len(c) > 0 {
			d.changed = append(d.changed, d.name(e)+": "+strings.Join(c, ", "))
		}
	}
	d.reordered = !slices.Equal(stayedWas, stayedIs)
	return d
}

func entries(list []Device) []entry {
	seen := map[key]int{}
	out := make([]entry, len(list))
	for i, d := range list {
		k := key{kind: d.Type, id: d.ID}
		seen[k]++
		out[i] = entry{key{d.Type, d.ID, seen[k]}, d}
	}
	return out
}

func index(list []entry) map[key]Device {
	m := make(map[key]Device, len(list))
	for _, e := range list {
		m[e.key] = e.device
	}
	return m
}

func (d *difference) count(sign string, list []entry) string {
	noun := "devices"
	if len(list) == 1 {
		noun = "device"
	}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = fmt.Sprintf("%s (%s)", product(e.device), e.device.Type)
	}
	return fmt.Sprintf("%s%d %s: %s", sign, len(list), noun, strings.Join(names, ", "))
}

// name is what a device is called, with its id where another bears the name too.
func (d *difference) name(e entry) string {
	name := nameOf(e.device)
	if len(d.names[name]) > 1 {
		name += " [" + printable(e.device.ID) + "]"
	}
	return name
}

func nameOf(d Device) string {
	word := map[string]string{AudioInput: "mic", AudioOutput: "speaker", VideoInput: "camera"}[d.Type]
	return product(d) + " " + word
}

// product is vendor and model, or the id of a device that has neither.
func product(d Device) string {
	vendor, model := printable(d.Vendor.Name), printable(d.Model.Name)
	switch {
	case vendor == "" && model == "":
		return printable(d.ID)
	case vendor == "" || strings.HasPrefix(model, vendor):
		return model
	case model == "":
		return vendor
	}
	return vendor + " " + model
}

func changes(was, is Device) []string {
	var list []string
	for _, f := range flags {
		if a, b := flagText(*f.field(&was)), flagText(*f.field(&is)); a != b {
			list = append(list, fmt.Sprintf("%s %s → %s", f.name, a, b))
		}
	}
	if was.Vendor != is.Vendor {
		list = append(list, "vendor changed")
	}
	if was.Model != is.Model {
		list = append(list, "model changed")
	}
	if !slices.Equal(was.Related, is.Related) {
		list = append(list, "related changed")
	}
	return list
}

func flagText(b *bool) string {
	if b == nil {
		return "unset"
	}
	return fmt.Sprint(*b)
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
