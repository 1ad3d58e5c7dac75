package main

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShippedBinary: what ships to users links nothing that only tests and the demo need.
func TestShippedBinary(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	foreign := regexp.MustCompile(`^(testing(/.*)?|sidetone/(fakeserver|bench|tools|internal/(testlab|memnet|world))(/.*)?|github.com/stretchr/.*|go.uber.org/goleak)$`)
	for _, dep := range strings.Fields(string(list)) {
		require.NotRegexp(t, foreign, dep)
	}
	require.Contains(t, string(list), "sidetone/internal/app\n")
}
