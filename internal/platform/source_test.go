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

// endless is a source that can be read once, changes at once, and then cannot be read in time.
type endless struct {
	inventory
	reads, reading chan struct{}
}

func (e endless) Read(ctx context.Context) (Reading, error) {
	select {
	case e.reads <- struct{}{}:
		return Reading{}, nil
	default:
		close(e.reading)
		<-ctx.Done()
		return Reading{}, ctx.Err()
	}
}

// TestNothingIsObservedOfAReadingThatWasGivenUp: its error is of the program that ends, not of the source.
func TestNothingIsObservedOfAReadingThatWasGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	src := endless{reads: make(chan struct{}, 1), reading: make(chan struct{})}
	go func() {
		<-src.reading
		cancel()
	}()
	var seen []devices.Observation
	Follow(ctx, src, nil, func(o devices.Observation) { seen = append(seen, o) })
	require.Len(t, seen, 1)
	require.NoError(t, seen[0].Err)
}
