package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sidetone/internal/strictyaml"
)

// objectOf returns the members of a body, which has to be an object.
func objectOf(body []byte) (map[string]json.RawMessage, error) {
	if err := checkJSON(body); err != nil {
		return nil, err
	}
	return members(body, "$")
}

// checkJSON says where body is not one value of JSON in UTF-8.
func checkJSON(body []byte) error {
	if !utf8.Valid(body) {
		return errors.New("$: the body is not UTF-8")
	}
	if json.Valid(body) {
		return nil
	}
	err := json.Unmarshal(body, new(json.RawMessage))
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return errors.New("$: the body is empty; want a JSON object")
	case errors.As(err, &syntax):
		return fmt.Errorf("$: not JSON at byte %d: %w", syntax.Offset, err)
	}
	return err
}

// members returns the members of the object at path, in a body that passes checkJSON. Names are compared exactly, and none may come twice.
func members(value json.RawMessage, path string) (map[string]json.RawMessage, error) {
	if kind := kindOf(value); kind != "an object" {
		return nil, fmt.Errorf("%s: want an object, not %s", path, kind)
	}
	d := json.NewDecoder(bytes.NewReader(value))
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := make(map[string]json.RawMessage)
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		key := name.(string) // names of members are text
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			return nil, fmt.Errorf("%s.%.40s: %w", path, key, err)
		}
		if _, twice := all[key]; twice {
			return nil, fmt.Errorf("%s.%.40s: given twice", path, key)
		}
		all[key] = member
	}
	return all, nil
}

// kindOf names the kind of a JSON value, for people.
func kindOf(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return "nothing"
	case value[0] == '{':
		return "an object"
	case value[0] == '[':
		return "a list"
	case value[0] == '"':
		return "text"
	case value[0] == 't', value[0] == 'f':
		return string(value)
	case value[0] == 'n':
		return "null"
	}
	return "a number"
}

// member says how a member of an object is read. Errors begin with its path, at.
type member struct {
	name     string
	required bool
	read     func(value json.RawMessage, at string) error
}

// readMembers reads the given members of the object at path. A name that may be a misspelt one of the wanted is an error, since its value
// would be lost.
func readMembers(given map[string]json.RawMessage, path string, wanted []member) error {
	unknown := slices.Sorted(maps.Keys(given))
	for _, m := range wanted {
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == m.name })
	}
	for _, m := range wanted {
		if value, there := given[m.name]; there {
			if err := m.read(value, path+"."+m.name); err != nil {
				return err
			}
			continue
		}
		slip := slipOf(unknown, m.name)
		switch {
		case slip != "" && m.required:
			return fmt.Errorf("%s.%s: missing; is it %.40q?", path, m.name, slip)
		case slip != "":
			return fmt.Errorf("%s.%.40s: did you mean %q? It would be lost", path, slip, m.name)
		case m.required:
			return fmt.Errorf("%s.%s: missing", path, m.name)
		}
	}
	return nil
}

// slipOf returns the given name that may be meant for name, or "". Their first word may be all that they have in common: a unit is easily
// forgotten, or confused with another.
func slipOf(given []string, name string) string {
	word, _, _ := strings.Cut(name, "_")
	for _, other := range given {
		if strings.HasPrefix(strings.ToLower(other), word) || strictyaml.Similar(other, name) {
			return other
		}
	}
	return ""
}

// text reads a string of 1 to limit printable characters.
func text(into *string, limit int) func(json.RawMessage, string) error {
	return func(value json.RawMessage, at string) error {
		if kind := kindOf(value); kind != "text" {
			return fmt.Errorf("%s: want text, not %s", at, kind)
		}
		if err := json.Unmarshal(value, into); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if n := utf8.RuneCountInString(*into); n == 0 || n > limit {
			return fmt.Errorf("%s: want 1 to %d characters, not %d", at, limit, n)
		}
		if strings.ContainsFunc(*into, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
			return fmt.Errorf("%s: want printable characters only", at)
		}
		return nil
	}
}

// whole reads a whole number from 0 to limit.
func whole[T int64 | uint64](into *T, limit uint64) func(json.RawMessage, string) error {
	return func(value json.RawMessage, at string) error {
		if kind := kindOf(value); kind != "a number" {
			return fmt.Errorf("%s: want a whole number, not %s", at, kind)
		}
		n, err := strconv.ParseUint(string(value), 10, 64)
		if err != nil || n > limit {
			return fmt.Errorf("%s: want a whole number from 0 to %d, not %.40s", at, limit, value)
		}
		*into = T(n)
		return nil
	}
}
