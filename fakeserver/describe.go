package fakeserver

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Describe says in one line how a device list changed: which devices came and
// went, which flags changed. The line is safe to print to a terminal.
func Describe(before, after []Device) string {
	switch {
	case len(before) == 0 && len(after) == 0:
		return "list empty"
	case len(after) == 0:
		return "list emptied"
	}
	was, is := keyed(before), keyed(after)
	keptBefore, removed := was.split(is)
	kept, added := is.split(was)
	var parts []string
	if len(added) > 0 {
		parts = append(parts, is.counted("+", added))
	}
	if len(removed) > 0 {
		parts = append(parts, was.counted("-", removed))
	}
	parts = append(parts, changed(was, is, kept)...)
	if !slices.Equal(keptBefore, kept) {
		parts = append(parts, "order changed")
	}
	return cmp.Or(strings.Join(parts, "; "), "unchanged")
}

// A key tells the devices of a list apart. Ids need not be unique, so equal ones
// are numbered.
type key struct {
	kind, id string
	nth      int
}

type keyedList struct {
	order   []key
	devices map[key]Device
}

func keyed(list []Device) keyedList {
	seen := map[key]int{}
	l := keyedList{devices: make(map[key]Device, len(list))}
	for _, d := range list {
		k := key{kind: d.Type, id: d.ID}
		seen[k]++
		k.nth = seen[k]
		l.order, l.devices[k] = append(l.order, k), d
	}
	return l
}

// split returns the devices that are in the other list, too, and the rest.
func (l keyedList) split(other keyedList) (common, rest []key) {
	for _, k := range l.order {
		if _, there := other.devices[k]; there {
			common = append(common, k)
		} else {
			rest = append(rest, k)
		}
	}
	return common, rest
}

func (l keyedList) counted(sign string, keys []key) string {
	noun := "devices"
	if len(keys) == 1 {
		noun = "device"
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = fmt.Sprintf("%s (%s)", product(l.devices[k]), k.kind)
	}
	return fmt.Sprintf("%s%d %s: %s", sign, len(keys), noun, strings.Join(names, ", "))
}

// changed says what has changed of each device that is in both lists. A device is
// called by its name, with its id if another has the same name.
func changed(was, is keyedList, kept []key) (parts []string) {
	named := map[string]int{} // how many devices of both lists have a name
	for _, d := range is.devices {
		named[nameOf(d)]++
	}
	for k, d := range was.devices {
		if now, there := is.devices[k]; !there || nameOf(now) != nameOf(d) {
			named[nameOf(d)]++
		}
	}
	for _, k := range kept {
		list := changes(was.devices[k], is.devices[k])
		if len(list) == 0 {
			continue
		}
		name := nameOf(is.devices[k])
		if named[name] > 1 {
			name += " [" + printable(k.id) + "]"
		}
		parts = append(parts, name+": "+strings.Join(list, ", "))
	}
	return parts
}

func nameOf(d Device) string {
	word := map[string]string{AudioInput: "mic", AudioOutput: "speaker", VideoInput: "camera"}[d.Type]
	return product(d) + " " + word
}

// product is vendor and model, or the id if the device has neither.
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
