package tray

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// label prepares a text for a menu, where an ampersand would mark an access key and a tab a column.
func label(text string) string {
	return strings.NewReplacer("&", "&&", "\t", " ").Replace(embedded(text))
}

// fit returns as much of a text as fits into that many UTF-16 units.
func fit(text string, units int) string {
	fitting := embedded(text)
	for limit := units; len(utf16.Encode([]rune(fitting))) > units; limit-- {
		fitting = embedded(shorten(text, limit))
	}
	return fitting
}

// Older direction marks, which Windows' menus understand: they begin and end an embedded name; and characters of no width that have a
// direction.
const (
	embedLTR, embedRTL, endEmbedding = '\u202a', '\u202b', '\u202c'
	markLTR, markRTL                 = '\u200e', '\u200f'
)

// embedded replaces the isolation of names in a text by embedding, and separates each name from what follows by a character of the text's
// own direction. If nothing is written from right to left, no marks are needed.
func embedded(text string) string {
	var b strings.Builder
	mixed := strings.ContainsFunc(text, isRTL)
	after := markLTR
	if outside, _, _ := strings.Cut(text, string(isolate)); firstIsRTL(outside) {
		after = markRTL
	}
	for i, r := range text {
		switch {
		case r != isolate && r != closing:
			b.WriteRune(r)
		case !mixed:
		case r == closing:
			b.WriteRune(endEmbedding)
			b.WriteRune(after)
		case firstIsRTL(text[i:]):
			b.WriteRune(embedRTL)
		default:
			b.WriteRune(embedLTR)
		}
	}
	return b.String()
}

// firstIsRTL reports whether the first letter is of a script that is written from right to left.
func firstIsRTL(text string) bool {
	i := strings.IndexFunc(text, unicode.IsLetter)
	return i >= 0 && isRTL([]rune(text[i:])[0])
}

// isRTL reports whether r is a letter of a right-to-left script: Hebrew, Arabic and the scripts beside them in Unicode.
func isRTL(r rune) bool {
	between := func(first, last rune) bool { return first <= r && r <= last }
	return unicode.IsLetter(r) &&
		(between(0x590, 0x8ff) || between(0xfb1d, 0xfdff) || between(0xfe70, 0xfeff) || between(0x10800, 0x10fff) || between(0x1e800, 0x1efff))
}
