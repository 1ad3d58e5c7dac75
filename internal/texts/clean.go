package texts

import (
	"strings"
	"unicode"
)

// Clean replaces what could act on the text around it: names come from devices and other programs. Of characters without a
// shape of their own, such as those that turn the direction of writing, none is left.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
