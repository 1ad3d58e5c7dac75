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
	case []any: // by way of its text
		if len(v) == 0 {
			return 0
		}
		if _, isBool := v[0].(bool); len(v) == 1 && !isBool {
			return number(v[0])
		}
	}
	return math.NaN()
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
