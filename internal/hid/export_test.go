package hid

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// What the tests that go through a catalogue need beside what is exported.
const (
	AskGap        = askGap
	HIDPPLength   = hidppLength
	HIDPPSoftware = hidppSoftware
)

// Rules are those in force.
func (t *Tracker) Rules() *Rules { return t.rules }

// LinkState is what is known of the link of a unit.
func (t *Tracker) LinkState(product, identity string) devices.Tri {
	return t.changes.linkStates[unit{product, identity}]
}

// Device is one that is there.
func (t *Tracker) Device(node string) Device { return t.deviceAt(node).device }

// Enqueue has a sensor of a device ask next.
func (t *Tracker) Enqueue(node string, sensor int) {
	d := t.deviceAt(node)
	d.queue = append(d.queue, d.sensors[sensor])
}

// RequireConsistent checks what is true of a Tracker between two events.
func (t *Tracker) RequireConsistent(tt require.TestingT, now time.Time) {
	for _, d := range t.devices {
		require.LessOrEqual(tt, len(d.queue), len(d.sensors))
		require.LessOrEqual(tt, len(d.requests), len(d.sensors)+1)
		for _, s := range d.sensors {
			require.Empty(tt, s.pending, "nothing is left over")
			require.Equal(tt, s.State.known(), s.Value.Known(), s.State)
			latest := now.Add(askGap)
			if s.Query != nil && s.Query.Poll != 0 {
				latest = now.Add(s.Query.Poll)
			}
			require.True(tt, s.AskAgainAt.IsZero() || s.AskAgainAt.After(now) && !s.AskAgainAt.After(latest), "no cause is forgotten")
		}
		require.True(tt, d.asking == nil || d.conversation() == nil || slices.Contains(d.sensors, d.asking))
	}
	require.False(tt, t.changes.links || t.changes.readings || len(t.changes.pending) > 0, "nothing is left over")
}
