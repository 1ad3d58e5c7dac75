package platform

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// inventory is a source with one card.
type inventory struct{ err error }

func (inventory) Name() string               { return "audio" }
func (inventory) Wait(context.Context) error { return nil }
func (inventory) Close() error               { return nil }

func (i inventory) Read(context.Context) (Reading, error) {
	return Reading{Hardware: []devices.Hardware{{ID: "card 1"}}, Version: "server 1"}, i.err
}

func TestReadingHasTheHardware(t *testing.T) {
	o := read(t.Context(), inventory{})
	require.False(t, o.At.IsZero())
	card := devices.Hardware{Source: "audio", ID: "card 1"}
	require.Equal(t, devices.Observation{Source: "audio", Hardware: []devices.Hardware{card}, At: o.At, Version: "server 1"}, o)
	gone := errors.New("gone")
	o = read(t.Context(), inventory{gone})
	require.Equal(t, devices.Observation{Source: "audio", Err: gone, At: o.At, Version: "server 1"}, o, "unknown is not what was there before")
}
