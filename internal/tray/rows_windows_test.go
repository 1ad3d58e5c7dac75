package tray

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

func TestWindowsShowsTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Bang && Olufsen_H 2", label("Bang & Olufsen_H\t2"))
	require.Equal(t, strings.Repeat("a", maxTip), tip(strings.Repeat("a", maxTip)))
	cut := tip("\u2068" + strings.Repeat("😀", 100) + "\u2069")
	require.LessOrEqual(t, len(utf16.Encode([]rune(cut))), maxTip)
	require.True(t, strings.HasSuffix(cut, "😀…\u2069"), "what is cut is marked, and isolated")
}
