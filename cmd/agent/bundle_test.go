package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMask: a serial number that begins with another must not be left half in the open.
func TestMask(t *testing.T) {
	m := newMask()
	for _, s := range []string{"A1", "A12", "A12-7", "A1", "", "7"} {
		m.serial(s)
	}
	masked := m.apply("A12-7, A12, A1 and 7")
	require.NotContains(t, masked, "A1")
	require.Regexp(t, `^SERIAL-\d, SERIAL-\d, SERIAL-\d and 7$`, masked)
	require.Equal(t, m.apply("A1"), m.apply("A1"))
	require.NotEqual(t, m.apply("A1"), m.apply("A12"))
}
