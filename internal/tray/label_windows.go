package tray

import (
	"strings"
	"unicode"
	"unicode/utf16"
)

// label is a text of a menu, in which no ampersand is taken for the mark of a key, nor a tab for that of a column.
func label(text string) string {
	return strings.NewReplacer("&", "&&", "\t", " ").Replace(embedded(text))
}

// fit is as much of a text as takes no more than that many UTF-16 units.
func fit(text string, units int) string {
	fitting := embedded(text)
	for limit := units; len(utf16.Encode([]rune(fitting))) > units; limit-- {
		fitting = embedded(shorten(text, limit))
	}
	return fitting
}

// Marks of the older kind, which Windows' menus know: what begins a name of either direction and what ends it; and characters of no width
// that belong to a direction.
const (
	embedLTR, embedRTL, endEmbedding = '\u202a', '\u202b', '\u202c'
	markLTR, markRTL                 = '\u200e', '\u200f'
)

// embedded is a text whose names are not isolated, but embedded, and apart from what follows by a character of the text's own direction.
// Where nothing is written from right to left they need no marks.
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

// isRTL reports whether it is a letter of such a script: Hebrew, Arabic, and what has its place beside them.
func isRTL(r rune) bool {
	between := func(first, last rune) bool { return first <= r && r <= last }
	return unicode.IsLetter(r) &&
		(between(0x590, 0x8ff) || between(0xfb1d, 0xfdff) || between(0xfe70, 0xfeff) || between(0x10800, 0x10fff) || between(0x1e800, 0x1efff))
}
