package hid_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever goes on from a checkpoint knows that the link was down, and which button was held.
func TestCheckpoint(t *testing.T) {
	w := newWorld(t, linked)
	w.happen(plugged("hidraw0", reports(1, 2)), plugged("hidraw1", reports(4)), in("hidraw1", 4, 1), in("hidraw1", 4, 0))
	w.asked()
	w.tr = restored(t, w.tr, rulesOf(t, linked))
	require.Equal(t, "sources[0]=unknown sources[1]=unknown sources[2]=unknown link_state[0]=false", w.states())
	require.Equal(t, "sources[0]=false sources[1]=unknown sources[2]=unknown link_state[0]=true", w.happen(in("hidraw1", 4, 1)))
	require.Equal(t, "hidraw0 feature 22", w.asked())
	w.tr = restored(t, w.tr, rulesOf(t, linked))
	require.Contains(t, w.happen(w.answer("hidraw0 feature 22", 0x22, 1)), "sources[2]=true")

	const held = `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, kind: toggle, value: {byte: 1}, anchor: {start: false}}}]
`
	w = newWorld(t, held)
	w.happen(plugged("hidraw0", reports(1)), in("hidraw0", 1, 1))
	w.tr = restored(t, w.tr, rulesOf(t, held))
	require.Equal(t, "sources[0]=true", w.happen(in("hidraw0", 1, 1)))
	require.Equal(t, "sources[0]=false", w.happen(in("hidraw0", 1, 0), in("hidraw0", 1, 1)))
}
