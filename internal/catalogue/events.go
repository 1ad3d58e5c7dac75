package catalogue

import (
	"encoding/json"
	"fmt"
)

type (
	// Events are numbers of events.
	Events = oneOrMore[int]
	// Usages are usages in hex, each of a page of its own if that stands in front of it: 2f or 0b:2f.
	Usages = oneOrMore[string]
)

// oneOrMore is written as one value or as a list.
type oneOrMore[T int | string] []T

// MarshalJSON returns a single value without brackets, as older versions read it.
func (m oneOrMore[T]) MarshalJSON() ([]byte, error) {
	if len(m) == 1 {
		return json.Marshal(m[0])
	}
	return json.Marshal([]T(m))
}

// UnmarshalJSON reads one value, or a list of at least one.
func (m *oneOrMore[T]) UnmarshalJSON(text []byte) error {
	var one T
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		*m = oneOrMore[T]{one}
		return nil
	}
	var several []T
	if json.Unmarshal(text, &several) != nil || len(several) == 0 {
		return fmt.Errorf("want %s", map[any]string{
			0: "a number, or a list of numbers such as [0, 1]", "": `hex digits in quotes, or a list such as ["9c", "b5"]`,
		}[any(*new(T))])
	}
	*m = several
	return nil
}
