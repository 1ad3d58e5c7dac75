// Package devices is the pure model of Sidetone: what the OS lists (Endpoint), how the vendor describes
// its products (Rules), what is sent to the client (Device), and the functions between them: Carry,
// Resolver.Resolve and Diff. It does no I/O, reads no clock and has no OS-specific code.
package devices

import (
	"bytes"
	"fmt"
)

// Tri is a value that may be unknown. The zero Tri is Unknown; unknown is never sent.
type Tri int8

// The three values of a Tri.
const (
	Unknown Tri = iota
	False
	True
)

// Of returns the known Tri of b.
func Of(b bool) Tri {
	if b {
		return True
	}
	return False
}

// Known reports whether t is True or False.
func (t Tri) Known() bool { return t == True || t == False }

// Not inverts a known value; unknown stays unknown.
func (t Tri) Not() Tri {
	switch t {
	case True:
		return False
	case False:
		return True
	default:
		return Unknown
	}
}

// And is False if either is False, True if both are True, otherwise Unknown.
func (t Tri) And(u Tri) Tri {
	switch {
	case t == False || u == False:
		return False
	case t == True && u == True:
		return True
	default:
		return Unknown
	}
}

// Ptr returns the wire form: nil if unknown.
func (t Tri) Ptr() *bool {
	if !t.Known() {
		return nil
	}
	return new(t == True)
}

// String is "true", "false" or "unknown".
func (t Tri) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "unknown"
	}
}

// MarshalJSON writes true, false or null.
func (t Tri) MarshalJSON() ([]byte, error) {
	if !t.Known() {
		return []byte("null"), nil
	}
	return []byte(t.String()), nil
}

// UnmarshalJSON reads true, false or null.
func (t *Tri) UnmarshalJSON(b []byte) error {
	switch string(bytes.TrimSpace(b)) {
	case "true":
		*t = True
	case "false":
		*t = False
	case "null":
		*t = Unknown
	default:
		return fmt.Errorf("want true, false or null, not %s", b)
	}
	return nil
}
