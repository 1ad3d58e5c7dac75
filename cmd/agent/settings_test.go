package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/config"
)

// TestLogWithoutEmptyRemedy: a remedy that is none is left out, in both forms of the log, and so is a reason.
func TestLogWithoutEmptyRemedy(t *testing.T) {
	t.Parallel()
	for _, format := range []config.LogFormat{config.LogText, config.LogJSON} {
		var out strings.Builder
		log := logger(&out, config.Log{Format: format})
		log.Info("not connected", "reason", "", "remedy", "")
		log.Info("not connected", "reason", "it is down", "remedy", "start it")
		require.Equal(t, 1, strings.Count(out.String(), "remedy"), out.String())
		require.Contains(t, out.String(), "start it")
		require.Equal(t, 1, strings.Count(out.String(), "reason"), out.String())
	}
}
