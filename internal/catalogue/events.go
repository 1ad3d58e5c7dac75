package catalogue

import (
	"encoding/json"
	"errors"
)

// Events are numbers of events, written as one number or as a list of them.
type Events []int

// MarshalJSON returns a single number without brackets, as older versions read it.
func (e Events) MarshalJSON() ([]byte, error) {
	if len(e) == 1 {
		return json.Marshal(e[0])
	}
	return json.Marshal([]int(e))
}

// UnmarshalJSON reads one number, or a list of at least one.
func (e *Events) UnmarshalJSON(text []byte) error {
	var one int
	if json.Unmarshal(text, &one) == nil && string(text) != "null" {
		*e = Events{one}
		return nil
	}
	var several []int
	if json.Unmarshal(text, &several) != nil || len(several) == 0 {
		return errors.New("want a number, or a list of numbers such as [0, 1]")
	}
	*e = several
	return nil
}
