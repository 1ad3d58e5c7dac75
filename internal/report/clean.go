package report

import (
	"slices"
	"strings"
	"unicode"
)

// clean replaces what could act on the text around it: names come from devices and other programs. Of characters without a
// shape of their own, such as those that turn the direction of writing, none is left.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// fromRight are the languages that are written from right to left, as one that a vendor has added may be.
var fromRight = []string{"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}

func rightLeft(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	return slices.Contains(fromRight, base)
}
