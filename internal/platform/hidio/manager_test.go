package hidio

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/platformtest"
)

// listBackend is an OS of which only the list of devices is asked.
type listBackend struct {
	backend
	entries []entry
}

func (b *listBackend) list() ([]entry, error)        { return b.entries, nil }
func (b *listBackend) unwatched() []health.Condition { return nil }
func (b *listBackend) close() error                  { return nil }

// What could not be told of a device, as on a busy machine, is asked once more.
func TestADeviceThatIsUnclearIsLookedAtAgain(t *testing.T) {
	unclear := entry{unclear: health.Wrap(platform.ErrNoAnswer, health.Unexplained, health.Warning, nil)}
	unclear.device.Node = "a"
	os := &listBackend{entries: []entry{unclear, {device: hid.Device{Node: "b", Bus: devices.USB}, id: 1}}}
	h := newManager(os, func(hid.Device) bool { return false }, func(hid.Event) {}, platformtest.Quiet())
	require.NoError(t, h.Read(t.Context()))
	require.Len(t, h.Notes(), 1)
	require.Equal(t, readRetry, h.retry)
	os.entries = os.entries[1:]
	require.NoError(t, h.Read(t.Context()))
	require.Empty(t, h.Notes())
	require.Zero(t, h.retry)
	require.NoError(t, h.Close())
}
