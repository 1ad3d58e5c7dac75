package service

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write the golden files")

func TestDefinitions(t *testing.T) {
	a := Agent{
		Name: "acme-agent", Executable: "/opt/Acme Audio/bin/acme-agent", Arguments: []string{"run", "--catalogue=/opt/Acme Audio/acme.yaml"},
	}
	for file, got := range map[string]string{
		"testdata/acme-agent.service": a.Unit(), "testdata/acme-agent-empty.service": a.EmptyUnit(), "testdata/acme-agent.desktop": a.entry().File(),
	} {
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, string(want), got, file)
	}
}

// TestWordsAreQuoted: systemd-analyze reads the same words back, whatever is in them, and so do we.
func TestWordsAreQuoted(t *testing.T) {
	for word, want := range map[string]struct{ program, unit string }{
		`/usr/bin/sidetone`: {`"/usr/bin/sidetone"`, `"/usr/bin/sidetone"`},
		`a b`:               {`"a b"`, `"a b"`},
		`100%`:              {`"100%%"`, `"100%%"`},
		`$HOME`:             {`"$HOME"`, `"$$HOME"`},
		`say "hi"`:          {`"say \"hi\""`, `"say \"hi\""`},
		`back\slash`:        {`"back\\slash"`, `"back\\slash"`},
		"`date`":            {"\"`date`\"", "\"`date`\""},
	} {
		require.Equal(t, want.program, unitWord(word, true), word)
		require.Equal(t, want.unit, unitWord(word, false), word)
		command := []string{word, "run", word}
		read, err := commandIn(Agent{Name: "a", Executable: word, Arguments: command[1:]}.Unit())
		require.NoError(t, err)
		require.Equal(t, command, read)
	}
	_, err := commandIn("[Service]\nExecStart=/usr/bin/other\n")
	require.ErrorContains(t, err, "words without quotes")
	_, err = commandIn("[Unit]\n")
	require.ErrorContains(t, err, "is empty")
	require.NoError(t, Agent{Name: "a", Executable: "/b", Arguments: []string{"c d"}}.check())
	require.ErrorContains(t, Agent{Name: "a", Executable: "/b", Arguments: []string{"c\nExecStartPre=d"}}.check(), "control character")
}
