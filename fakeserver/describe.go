package fakeserver

import (
	"cmp"
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
	was, is := entries(before), entries(after)
	added, removed := without(is, was), without(was, is)
	var parts []string
	if len(added) > 0 {
		parts = append(parts, counted("+", added))
	}
	if len(removed) > 0 {
		parts = append(parts, counted("-", removed))
	}
	parts = append(parts, changed(was, is)...)
	if !slices.EqualFunc(without(was, removed), without(is, added), func(a, b entry) bool { return a.key == b.key }) {
		parts = append(parts, "order changed")
	}
	return cmp.Or(strings.Join(parts, "; "), "unchanged")
}

// A key tells the devices of a list apart. Ids need not be unique, so equal
// ones are counted.
type key struct {
	kind, id string
	nth      int
}

type entry struct {
	key    key
	device Device
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

// without is what is in a list and not in another.
func without(list, other []entry) []entry {
	others := index(other)
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool {
		_, there := others[e.key]
		return there
	})
}

func counted(sign string, list []entry) string {
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

// changed says what has changed of each device that is in both lists. It is called by its name,
// with its id where another bears the name too.
func changed(was, is []entry) (parts []string) {
	bearers := map[string]map[key]bool{}
	for _, e := range slices.Concat(was, is) {
		name := nameOf(e.device)
		if bearers[name] == nil {
			bearers[name] = map[key]bool{}
		}
		bearers[name][e.key] = true
	}
	old := index(was)
	for _, e := range is {
		before, there := old[e.key]
		list := changes(before, e.device)
		if !there || len(list) == 0 {
			continue
		}
		name := nameOf(e.device)
		if len(bearers[name]) > 1 {
			name += " [" + printable(e.device.ID) + "]"
		}
		parts = append(parts, name+": "+strings.Join(list, ", "))
	}
	return parts
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
