package fakeserver

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// goodVersion reports whether the client accepts a version. The client converts
// the value to a number as JavaScript does, and refuses what is above or below 1.
// NaN is neither (rules R26, R78, R79).
func goodVersion(v any) bool {
	n := number(v)
	return math.IsNaN(n) || n == 1
}

// number converts a value as JavaScript's Number does.
func number(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case json.Number:
		return numberOf(v.String())
	case string:
		return numberOf(v)
	case []any:
		return numberOf(textOf(v))
	}
	return math.NaN()
}

// textOf converts a value to text as JavaScript's String does.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	case json.Number:
		switch n := numberOf(v.String()); {
		case math.IsInf(n, 1):
			return "Infinity"
		case math.IsInf(n, -1):
			return "-Infinity"
		default:
			return string(mustJSON(n + 0)) // there is no minus zero
		}
	case []any:
		parts := make([]string, len(v))
		for i, part := range v {
			if part != nil {
				parts[i] = textOf(part)
			}
		}
		return strings.Join(parts, ",")
	}
	return "[object Object]"
}

// repeated is a value of a message as the client repeats it: what is too large for a number of
// JavaScript becomes null.
func repeated(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n := numberOf(v.String()); !math.IsInf(n, 0) {
			return n + 0
		}
		return nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = repeated(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = repeated(v[key])
		}
		return object
	}
	return v
}

func numberOf(text string) float64 {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return 0
	case strings.ContainsFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) }):
		return math.NaN()
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(n, 0) { // infinity: out of range, which is still a number
		return math.NaN()
	}
	return n
}
