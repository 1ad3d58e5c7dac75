package tray

import (
	"strings"
	"unicode"

	"sidetone/internal/texts"
)

const (
	maxName    = 48 // characters of a name
	maxLine    = 80 // characters of a row
	maxTooltip = 200
)

// name makes a name from outside fit to be shown.
func name(s string) string { return shorten(texts.Clean(s), maxName) }

// The marks that texts.Printer.Isolated puts around a name.
const (
	isolate = '\u2068'
	closing = '\u2069'
)

// shorten cuts a text to limit characters and marks the cut. It does not split what a reader sees as one character, and closes every
// isolated name.
func shorten(s string, limit int) string {
	chars := []rune(s)
	if len(chars) <= limit {
		return s
	}
	end := limit - 1
	for end > 0 && joined(chars[:end], chars[end]) {
		end--
	}
	cut := strings.TrimRightFunc(string(chars[:end]), func(r rune) bool { return unicode.IsSpace(r) || r == '…' }) + "…"
	open := strings.Count(cut, string(isolate)) - strings.Count(cut, string(closing))
	return cut + strings.Repeat(string(closing), open)
}

// joined reports whether next belongs to the character that before ends with: marks and modifiers do, the second letter of a flag,
// and vowels and final consonants of Hangul that are written apart.
func joined(before []rune, next rune) bool {
	switch {
	case unicode.Is(unicode.M, next), next >= 0x1F3FB && next <= 0x1F3FF, next >= 0x1160 && next <= 0x11FF:
		return true
	case isRegional(next):
		var run int
		for run < len(before) && isRegional(before[len(before)-1-run]) {
			run++
		}
		return run%2 == 1
	}
	return false
}

func isRegional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

// wrap breaks a text into at most that many rows, between words if possible. An isolated name stays isolated in each row.
func wrap(s string, rows int) (list []string) {
	rest := []rune(s)
	var opened int
	for len(list) < rows-1 && opened+len(rest) > maxLine {
		end := breakAt(rest, maxLine-opened)
		row := strings.Repeat(string(isolate), opened) + string(rest[:end])
		opened = strings.Count(row, string(isolate)) - strings.Count(row, string(closing))
		list = append(list, strings.TrimSpace(row)+strings.Repeat(string(closing), opened))
		rest = rest[end:]
	}
	return append(list, shorten(strings.Repeat(string(isolate), opened)+strings.TrimSpace(string(rest)), maxLine))
}

// breakAt returns where to break a text within limit characters: after a space, else between characters.
func breakAt(s []rune, limit int) int {
	for end := limit; end > limit/2; end-- {
		if s[end-1] == ' ' {
			return end
		}
	}
	for end := limit; end > 1; end-- {
		if !joined(s[:end], s[end]) {
			return end
		}
	}
	return limit
}
