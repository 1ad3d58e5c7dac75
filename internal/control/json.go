package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sidetone/internal/strictyaml"
)

// decode reads a body into the struct that into points to, and returns its members. One that the struct does not have is left alone, since
// a later version may have it, but for a name that may be a misspelt one of the struct's: its value would be lost. Errors name the JSON
// path.
func decode(body []byte, into any) (given map[string]json.RawMessage, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, errors.New("$: the body is empty; want a JSON object")
	}
	err = json.Unmarshal(body, into)
	if err == nil {
		err = json.Unmarshal(body, &given)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("$: not JSON at byte %d: %w", syntax.Offset, err)
	case errors.As(err, &kind):
		return nil, fmt.Errorf("%s: want %s, found %.40s", strings.TrimSuffix("$."+kind.Field, "."), wanted(kind.Type), kind.Value)
	case err != nil:
		return nil, err
	case given == nil:
		return nil, errors.New("$: want an object, found null")
	}
	return given, misspelt(given, reflect.TypeOf(into).Elem())
}

// wanted names what JSON has to have for a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "a whole number"
	}
}

// misspelt reports the name of a member that may be meant for one of a struct type that is not given.
func misspelt(given map[string]json.RawMessage, t reflect.Type) error {
	unknown := slices.Sorted(maps.Keys(given))
	var missing []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		others := slices.DeleteFunc(slices.Clone(unknown), func(other string) bool { return strings.EqualFold(other, name) })
		if len(others) == len(unknown) {
			missing = append(missing, name)
		}
		unknown = others
	}
	for _, name := range missing {
		// The first word may be all that the two have in common: a unit is easily forgotten, or confused with another.
		word, _, _ := strings.Cut(name, "_")
		for _, other := range unknown {
			if strings.HasPrefix(strings.ToLower(other), word) || strictyaml.Similar(other, name) {
				return fmt.Errorf("$.%.40s: did you mean %q? It would be lost", other, name)
			}
		}
	}
	return nil
}

// checkText holds the text of a member to 1 to limit printable characters.
func checkText(name, text string, limit int) error {
	if n := utf8.RuneCountInString(text); n == 0 || n > limit {
		return fmt.Errorf("$.%s: want 1 to %d characters, not %d", name, limit, n)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return fmt.Errorf("$.%s: want printable characters only", name)
	}
	return nil
}

// checkWhole holds the number of a member to 0 to limit.
func checkWhole(name string, number, limit int64) error {
	if number < 0 || number > limit {
		return fmt.Errorf("$.%s: want a whole number from 0 to %d, not %d", name, limit, number)
	}
	return nil
}
