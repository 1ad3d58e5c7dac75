package hid_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A level that says what the rule does not know is news for the whole unit: what another interface said before is over.
func TestUnknownValueOnOneOfTwoInterfaces(t *testing.T) {
	w := newWorld(t, `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1, on: [1], off: [0]}}}]
`)
	w.happen(at("hidraw0", reports(1)), at("hidraw1", reports(1)))
	require.Equal(t, "sources[0]=true sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=unknown sources[0]=unknown", w.happen(in("hidraw1", 1, 7)))
	require.Equal(t, "sources[0]=false sources[0]=false", w.happen(in("hidraw1", 1, 0)))
}
