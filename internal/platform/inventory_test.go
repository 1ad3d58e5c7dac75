package platform

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// inventory is a source with one card.
type inventory struct{ err error }

func (inventory) Name() string                                       { return "audio" }
func (inventory) Wait(context.Context) error                         { return nil }
func (inventory) Close() error                                       { return nil }
func (i inventory) List(context.Context) ([]devices.Endpoint, error) { return nil, i.err }
func (inventory) Hardware() []devices.Hardware                       { return []devices.Hardware{{ID: "card 1"}} }

func TestReadingHasTheHardware(t *testing.T) {
	at := time.Now()
	o := read(t.Context(), inventory{}, at)
	require.Equal(t, devices.Observation{Source: "audio", Hardware: []devices.Hardware{{Source: "audio", ID: "card 1"}}, At: at}, o)
	gone := errors.New("gone")
	o = read(t.Context(), inventory{gone}, at)
	require.Equal(t, devices.Observation{Source: "audio", Err: gone, At: at}, o, "unknown is not what was there before")
}
