package catalogue

import (
	"strings"

	"sidetone/internal/hid"
)

// Firmware is a range of versions of a USB device's firmware, as its descriptor gives them (bcdDevice). At least one end is set.
type Firmware struct {
	Min string `json:"min,omitempty" yaml:"min,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{4}$" jsonschema_description:"The first version, four hex digits, quoted: 0104 is 1.04. Any if left out."`
	Max string `json:"max,omitempty" yaml:"max,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{4}$" jsonschema_description:"The last version. Any if left out."`
}

func (f *Firmware) compile() hid.Firmware {
	if f == nil {
		return hid.Firmware{}
	}
	return hid.Firmware{Min: strings.ToLower(f.Min), Max: strings.ToLower(f.Max)}
}

// covers reports whether each version in the range of another is in this one; nil: any version.
func (f *Firmware) covers(other *Firmware) bool {
	if f == nil || other == nil {
		return f == nil
	}
	a, b := f.compile(), other.compile()
	return a.Min <= b.Min && (a.Max == "" || b.Max != "" && b.Max <= a.Max)
}

// overlaps reports whether a version is in both ranges.
func (f *Firmware) overlaps(other *Firmware) bool {
	a, b := f.compile(), other.compile()
	return (a.Max == "" || b.Min <= a.Max) && (b.Max == "" || a.Min <= b.Max)
}

// firmware checks the versions that a source is for.
func (f *faults) firmware(path string, k SourceKind, of *Firmware) {
	if of == nil {
		return
	}
	if !k.readsHID() {
		f.add(path, "leave it out", "only HID sources know the version of the firmware")
	}
	f.version(path+".min", of.Min)
	f.version(path+".max", of.Max)
	switch low, high := strings.ToLower(of.Min), strings.ToLower(of.Max); {
	case low == "" && high == "":
		f.add(path, "min, max or both", "want a range of versions")
	case high != "" && low > high:
		f.add(path, "", "min is greater than max")
	}
}

func (f *faults) version(path, version string) {
	if version != "" && !hexShape.MatchString(version) {
		f.add(path, "four hex digits such as \"0104\"", "not a version")
	}
}
