package devices

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// IDScheme selects an endpoint's id on the wire. The client compares it with its own id of the device,
// which differs per OS (rule R54).
type IDScheme string

// The id schemes.
const (
	IDNative  IDScheme = "native"   // the OS's id, in full
	IDGUID    IDScheme = "guid"     // the GUID at the end of a Windows endpoint id, without braces
	IDName    IDScheme = "name"     // the name that the OS shows
	IDBusInfo IDScheme = "bus_info" // V4L2 bus_info of a camera
)

// Enum lists the names that a file may use.
func (IDScheme) Enum() []string {
	return Names([]IDScheme{IDNative, IDGUID, IDName, IDBusInfo})
}

// DefaultIDScheme returns the default scheme for a type of endpoint on an OS (rules R57 to R60).
func DefaultIDScheme(os OS, t Type) IDScheme {
	switch {
	case t == VideoInput && os == Linux:
		return IDBusInfo
	case t == VideoInput, os == Windows:
		return IDNative
	default:
		return IDName
	}
}

var trailingGUID = regexp.MustCompile(`\{([0-9A-Fa-f-]{36})\}$`)

// wireID returns e's id under the scheme, or "" where e has no such id. A camera without bus_info
// falls back to its name, as in the client (rule R55). Only names are cut.
func wireID(e Endpoint, scheme IDScheme, maxBytes int) string {
	switch {
	case scheme == IDNative:
		return strings.ToValidUTF8(e.ID, "\uFFFD")
	case scheme == IDBusInfo && e.BusInfo != "":
		return strings.ToValidUTF8(e.BusInfo, "\uFFFD")
	case scheme == IDName, scheme == IDBusInfo:
		return cut(strings.ToValidUTF8(e.Name, "\uFFFD"), maxBytes)
	case scheme == IDGUID:
		if m := trailingGUID.FindStringSubmatch(e.ID); m != nil {
			return m[1]
		}
	}
	return ""
}

// cut shortens s to at most n bytes without splitting a character; n <= 0 keeps all of it (rule R61).
func cut(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
