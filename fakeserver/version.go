package fakeserver

import (
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// queryValue is a part of a query as the client sees it: one that is not there is null.
func queryValue(query url.Values, key string) any {
	if !query.Has(key) {
		return nil
	}
	return query.Get(key)
}

// goodVersion reports whether the client takes a version: it turns the value into
// a number as JavaScript does, and refuses what is above or below 1. What is
// no number is neither (rules R26, R78, R79).
func goodVersion(v any) bool {
	n := number(v)
	return math.IsNaN(n) || n == 1
}

// number is the value as JavaScript's Number makes it.
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
		switch {
		case len(v) == 0:
			return 0
		case len(v) == 1:
			if _, isBool := v[0].(bool); !isBool {
				return number(v[0])
			}
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
	if err != nil && math.IsInf(n, 0) {
		return n // out of range, which is a number
	}
	if err != nil {
		return math.NaN()
	}
	return n
}
