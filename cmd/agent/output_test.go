package main

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnswerStopsItsVerb at the first failure, which is the one that is said.
func TestAnswerStopsItsVerb(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	full := errors.New("full")
	require.NoError(t, r.CloseWithError(full))
	stopped := 0
	a := &answer{Writer: w, stop: func() { stopped++ }}
	require.NoError(t, a.failure(nil))
	require.Equal(t, exitCode(exitBadInput), a.failure(exitCode(exitBadInput)))
	for range 2 {
		_, err := io.WriteString(a, "a line")
		require.ErrorIs(t, err, full)
	}
	require.Equal(t, 1, stopped)
	a.Writer = io.Discard
	_, err := io.WriteString(a, "the next line")
	require.ErrorIs(t, err, full, "no answer with a hole in it")
	require.EqualError(t, a.failure(errInterrupted), "cannot write the answer: full")
}
