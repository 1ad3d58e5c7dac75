package hidio

import (
	"errors"
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
	opened  chan connection
}

func (b *listBackend) list() ([]entry, error)        { return b.entries, nil }
func (b *listBackend) unwatched() []health.Condition { return nil }
func (b *listBackend) close() error                  { return nil }

func (b *listBackend) open(string) (connection, error) { return <-b.opened, nil }
func (b *listBackend) path(node string) string         { return node }
func (b *listBackend) isUnplugged(error) bool          { return false }
func (b *listBackend) backlog() int                    { return 1 }

// failing is a connection that fails when it is told to.
type failing struct {
	connection
	fails chan error
}

func (c failing) read([]byte, func()) (int, error) { return 0, <-c.fails }
func (c failing) close() error                     { close(c.fails); return nil }

// A device may fail and stay, as over a sleep. It is not tried again and again, but when all is read afresh.
func TestADeviceThatHasFailedIsOpenedAgainWhenAllIsReadAfresh(t *testing.T) {
	os := &listBackend{entries: []entry{{device: hid.Device{Node: "a", Bus: devices.USB}, id: 1}}, opened: make(chan connection, 2)}
	events := newHIDEvents()
	h := newManager(os, func(hid.Device) bool { return true }, events.handle, platformtest.Quiet())
	first := failing{fails: make(chan error, 1)}
	os.opened <- first
	require.NoError(t, h.Read(t.Context()))
	events.expect(t, hid.Attached, "a")
	first.fails <- errors.New("it was reset")
	events.expect(t, hid.Gone, "a")
	require.NoError(t, h.Wait(t.Context()), "that is to be looked at")
	for range 3 {
		require.NoError(t, h.Read(t.Context()))
	}
	require.Empty(t, events)
	os.opened <- failing{fails: make(chan error, 1)}
	h.Refresh()
	require.NoError(t, h.Read(t.Context()))
	events.expect(t, hid.Attached, "a")
	require.Empty(t, h.Notes())
	require.NoError(t, h.Close())
}

// What could not be told of a device, as on a busy machine, is asked once more.
func TestADeviceThatIsUnclearIsLookedAtAgain(t *testing.T) {
	unreadable := entry{unreadable: health.Wrap(platform.ErrNoAnswer, health.Unexplained, health.Warning, nil)}
	unreadable.device.Node = "a"
	os := &listBackend{entries: []entry{unreadable, {device: hid.Device{Node: "b", Bus: devices.USB}, id: 1}}}
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
