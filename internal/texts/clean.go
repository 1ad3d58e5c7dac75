package texts

import (
	"strings"
	"unicode"
)

// Clean replaces characters without a visible shape, such as those that change the direction of writing: names come from
// devices and other programs, and must not affect the text around them.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
