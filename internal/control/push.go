package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

// MaxLease is the longest lease of a push.
const MaxLease = 24 * time.Hour

const (
	maxOwner  = 64 // characters
	maxSerial = 128
)

// parsePush reads the body of a push. Members that it does not know are left alone: a later
// version may have them. An unknown flag is an error: a slip there would lose a mute without
// a word. Errors name the JSON path.
func parsePush(body []byte) (PushRequest, error) {
	if err := checkJSON(body); err != nil {
		return PushRequest{}, err
	}
	given, err := members(body, "$")
	if err != nil {
		return PushRequest{}, err
	}
	return pushOf(given, "$")
}

// pushOf reads the members of the push at path.
func pushOf(given map[string]json.RawMessage, path string) (PushRequest, error) {
	var p PushRequest
	parts := []struct {
		name     string
		required bool
		read     func(json.RawMessage, string) error
	}{
		{"owner", true, func(v json.RawMessage, at string) (err error) { p.Owner, err = text(v, at, maxOwner); return err }},
		{"serial", false, func(v json.RawMessage, at string) (err error) { p.Serial, err = text(v, at, maxSerial); return err }},
		{"seq", false, func(v json.RawMessage, at string) (err error) { p.Seq, err = whole(v, at, 1<<64-1); return err }},
		{"ttl_ms", false, func(v json.RawMessage, at string) error {
			ms, err := whole(v, at, uint64(MaxLease.Milliseconds()))
			p.TTLms = int64(ms)
			return err
		}},
		{"state", true, func(v json.RawMessage, at string) (err error) { p.State, err = flags(v, at); return err }},
	}
	unknown := slices.Sorted(maps.Keys(given))
	for _, part := range parts {
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == part.name })
	}
	for _, part := range parts {
		value, there := given[part.name]
		if there {
			if err := part.read(value, path+"."+part.name); err != nil {
				return PushRequest{}, err
			}
			continue
		}
		slip := slipOf(unknown, part.name)
		switch {
		case slip != "" && part.required:
			return PushRequest{}, fmt.Errorf("%s.%s: missing; is it %.40q?", path, part.name, slip)
		case slip != "":
			return PushRequest{}, fmt.Errorf("%s.%.40s: did you mean %q? It would be lost", path, slip, part.name)
		case part.required:
			return PushRequest{}, fmt.Errorf("%s.%s: missing", path, part.name)
		}
	}
	return p, nil
}

// slipOf returns which of the given members was meant to be the one of that name, which is not among them, or "". The first
// word may be all that they have in common: a unit is easily forgotten, or another one.
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
func text(value json.RawMessage, at string, limit int) (string, error) {
	var s string
	if kind := kindOf(value); kind != "text" {
		return "", fmt.Errorf("%s: want text, not %s", at, kind)
	}
	if err := json.Unmarshal(value, &s); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	if n := utf8.RuneCountInString(s); n == 0 || n > limit {
		return "", fmt.Errorf("%s: want 1 to %d characters, not %d", at, limit, n)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return "", fmt.Errorf("%s: want printable characters only", at)
	}
	return s, nil
}

// whole reads a whole number from 0 to limit.
func whole(value json.RawMessage, at string, limit uint64) (uint64, error) {
	if kind := kindOf(value); kind != "a number" {
		return 0, fmt.Errorf("%s: want a whole number, not %s", at, kind)
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil || n > limit {
		return 0, fmt.Errorf("%s: want a whole number from 0 to %d, not %.40s", at, limit, value)
	}
	return n, nil
}

// flags reads at least one flag, each with true, false or null.
func flags(value json.RawMessage, at string) (map[devices.Field]*bool, error) {
	given, err := members(value, at)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, fmt.Errorf("%s: want at least one flag: %s", at, strings.Join(devices.HardwareMute.Enum(), ", "))
	}
	state := make(map[devices.Field]*bool, len(given))
	for name, v := range given {
		field := devices.Field(name)
		if !slices.Contains(devices.Fields, field) {
			return nil, fmt.Errorf("%s: there is no flag %.40q; %s", at, name, strictyaml.Suggest(name, field.Enum()))
		}
		switch string(v) {
		case "true", "false":
			state[field] = devices.Of(string(v) == "true").Ptr()
		case "null":
			state[field] = nil
		default:
			return nil, fmt.Errorf("%s.%s: want true, false or null, not %s", at, name, kindOf(v))
		}
	}
	return state, nil
}
