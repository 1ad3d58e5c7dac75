package main

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/app"
	"sidetone/internal/supervise"
)

// TestExitCodeOfAnAgent follows from how it ends and who looks after it, whichever way its process ends.
func TestExitCodeOfAnAgent(t *testing.T) {
	failed := errors.New("another agent has the lock")
	for _, c := range []struct {
		how         app.Ending
		err         error
		code, alone int // alone: where nobody supervises it
	}{
		{app.EndsByItself, nil, exitOK, exitOK},
		{app.EndsByItself, failed, exitFailed, exitFailed},
		{app.EndsWithSession, nil, supervise.ExitSession, exitOK},
		{app.EndsWithSession, failed, supervise.ExitSession, exitFailed},
		{app.EndsForUpdate, nil, supervise.ExitUpdate, exitOK},
	} {
		for supervised, want := range map[bool]int{true: c.code, false: c.alone} {
			code, _ := exitCodeOf(exitOf(c.how, c.err, supervised), []string{"run"})
			require.Equal(t, want, code, "%s, %v, supervised %t", c.how, c.err, supervised)
		}
	}
}
