package desktop

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWordsAreQuoted: desktops read the same words back, whatever is in them, and so do we.
func TestWordsAreQuoted(t *testing.T) {
	for word, want := range map[string]string{
		`/usr/bin/sidetone`: `"/usr/bin/sidetone"`,
		`a b`:               `"a b"`,
		`100%`:              `"100%%"`,
		`$HOME`:             `"\\$HOME"`,
		`say "hi"`:          `"say \\"hi\\""`,
		`back\slash`:        `"back\\\\slash"`,
		"`date`":            "\"\\\\`date\\\\`\"",
	} {
		e := Entry{Command: []string{word, "run", word}}
		require.Contains(t, e.File(), "\nExec="+want+` "run" `+want+"\n")
		read, err := CommandIn(e.File())
		require.NoError(t, err)
		require.Equal(t, e.Command, read)
	}
	_, err := CommandIn("Exec=/usr/bin/other\n")
	require.ErrorContains(t, err, "words without quotes")
	_, err = CommandIn("Name=x\n")
	require.ErrorContains(t, err, "no Exec")
}
