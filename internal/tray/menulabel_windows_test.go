package tray

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

func TestWindowsShowsTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	const maxTip = 127
	require.Equal(t, "Bang && Olufsen_H 2", label("Bang & Olufsen_H\t2"))
	require.Equal(t, strings.Repeat("a", maxTip), fit(strings.Repeat("a", maxTip), maxTip))
	cut := fit("\u2068"+strings.Repeat("😀", 100)+"\u2069", maxTip)
	require.LessOrEqual(t, len(utf16.Encode([]rune(cut))), maxTip)
	require.True(t, strings.HasSuffix(cut, "😀…"), "what is cut is marked")
	cut = fit("\u2068"+strings.Repeat("س", 200)+"\u2069", maxTip)
	require.LessOrEqual(t, len(utf16.Encode([]rune(cut))), maxTip)
	require.True(t, strings.HasSuffix(cut, "س…\u202c\u200e"), "no name stays open")
}

func TestNamesAreEmbedded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\u2068Acme\u2069: 2 devices":     "Acme: 2 devices",
		"\u2068سماعة 7\u2069: 2 devices":  "\u202bسماعة 7\u202c\u200e: 2 devices",
		"\u2068Acme\u2069, \u2068س\u2069": "\u202aAcme\u202c\u200e, \u202bس\u202c\u200e",
		"מיקרופון של \u2068Acme\u2069: 1": "מיקרופון של \u202aAcme\u202c\u200f: 1",
	} {
		require.Equal(t, want, embedded(text))
	}
}
