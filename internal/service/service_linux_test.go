package service

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnfitForAUnit: what systemd or the library would misread is refused before anything is written.
func TestUnfitForAUnit(t *testing.T) {
	for path, fault := range map[string]string{
		"/opt/Acme Audio/$x %h/agent": "",
		`/opt/a\b/agent`:              "quotes or backslashes",
		`/opt/a"b/agent`:              "quotes or backslashes",
		"/opt/a'b/agent":              "quotes or backslashes",
		"/opt/{{x}}/agent":            "contains {{",
	} {
		_, err := newSystemd(Agent{Name: "agent", Executable: path}, "/home/me")
		if fault == "" {
			require.NoError(t, err, path)
		} else {
			require.ErrorContains(t, err, fault, path)
		}
	}
}
