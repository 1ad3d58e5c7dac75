package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// answering are verbs that print an answer, most of them without a look at what becomes of it.
var answering = []string{
	"version", "--version", "--help", "completion bash", "devices --sources-audio=false --sources-camera=false",
	"catalogue check " + exampleCatalogue, "catalogue test " + exampleCatalogue, "catalogue udev " + exampleCatalogue,
	"replay --catalogue " + exampleCatalogue + " " + exampleTrace, "config show",
}

func TestAnswerToAFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range answering {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			require.NoError(t, err)
			defer full.Close()
			require.Equal(t, output{exitFailed, "", "sidetone: cannot write the answer: no space left on device\n"}, answerTo(t, full, args))
		})
	}
}

func TestAnswerToNobody(t *testing.T) {
	t.Parallel()
	for _, args := range answering {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer w.Close()
			require.NoError(t, r.Close())
			require.Equal(t, output{exitFailed, "", ""}, answerTo(t, w, args))
		})
	}
}

// answerTo runs a verb whose standard output is a file.
func answerTo(t *testing.T, file *os.File, args string) output {
	t.Helper()
	cmd := child(t, privateEnv(t, nil), strings.Fields(args)...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = file, &stderr
	_ = cmd.Run()
	return output{cmd.ProcessState.ExitCode(), "", stderr.String()}
}
