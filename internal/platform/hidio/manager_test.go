package hidio

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

func (b *listBackend) list(func(hid.Device) bool) ([]entry, error) { return b.entries, nil }
func (b *listBackend) unwatched() []health.Condition               { return nil }
func (b *listBackend) close() error                                { return nil }

func (b *listBackend) open(string) (connection, error) { return <-b.opened, nil }
func (b *listBackend) path(node string) string         { return node }
func (b *listBackend) backlog() int                    { return 8 }

// failing is a connection with one channel, which fails when it is told to.
type failing struct {
	whole
	fails chan error
}

func newFailing() failing { return failing{fails: make(chan error, 1)} }

func (failing) request(hid.Request) ([]byte, error)                    { return nil, nil }
func (c failing) channels() []channel                                  { return []channel{c} }
func (c failing) read([]byte, time.Time, func(time.Time)) (int, error) { return 0, <-c.fails }

func (failing) interrupt()     {}
func (c failing) close() error { close(c.fails); return nil }

// A device may fail and stay, as when its port was reset. It is opened again for as long as it is listed, soon at first, and never often.
func TestADeviceThatHasFailedIsOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		os := &listBackend{entries: []entry{{device: hid.Device{Node: "a", Bus: devices.USB}, id: 1}}, opened: make(chan connection, 1)}
		events := newHIDEvents()
		h := newManager(os, Any(func(hid.Device) bool { return true }), events.handle, platformtest.Quiet())
		conn := newFailing()
		os.opened <- conn
		require.NoError(t, readNow(t, h))
		events.expect(t, hid.Attached, "a")
		start := time.Now()
		conn.fails <- errors.New("it was reset")
		for _, at := range append(slices.Clone(openRetries), openRetries[2]+readRetry, openRetries[2]+2*readRetry) {
			events.expect(t, hid.Failed, "a")
			require.NoError(t, h.Wait(t.Context()), "that is to be looked at")
			for range 3 {
				require.NoError(t, readNow(t, h))
				require.Empty(t, events)
			}
			require.NoError(t, h.Wait(t.Context()))
			require.Equal(t, at, time.Since(start))
			conn = newFailing()
			os.opened <- conn
			require.NoError(t, readNow(t, h))
			require.False(t, events.expect(t, hid.Attached, "a").Plugged)
			require.Empty(t, h.noted())
			require.Zero(t, h.retry)
			conn.fails <- errors.New("it was reset")
		}
		events.expect(t, hid.Failed, "a")
		require.NoError(t, h.Wait(t.Context()))
		require.NoError(t, readNow(t, h))
		require.Len(t, h.noted(), 1)
		h.wanted(t)
		os.opened <- newFailing()
		require.NoError(t, readNow(t, h))
		events.expect(t, hid.Attached, "a")
		os.entries = nil
		require.NoError(t, readNow(t, h))
		events.expect(t, hid.Gone, "a")
		require.Zero(t, h.retry)
		require.NoError(t, h.Close())
	})
}

// halved is a connection to a device of two collections, the second of which another program may keep to itself.
type halved struct {
	failing
	kept  *atomic.Bool
	tried *atomic.Int32
	both  *atomic.Bool // are open
}

func (c halved) channels() []channel {
	if c.both.Load() {
		return []channel{c.failing, c.failing}
	}
	return []channel{c.failing}
}

func (c halved) refused() []refusal {
	if c.both.Load() {
		return nil
	}
	return []refusal{{"the second collection", errBusy}}
}

func (c halved) amend(d hid.Device) hid.Device {
	if !c.both.Load() {
		d.Descriptor = d.Descriptor[:1]
	}
	return d
}

func (c halved) openRest() error {
	c.tried.Add(1)
	if c.kept.Load() {
		return errBusy
	}
	c.both.Store(true)
	return nil
}

// What cannot be opened of a device costs only the rules that need it, and that alone is tried again.
func TestADeviceIsReadWithoutWhatAnotherProgramKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		os := &listBackend{
			entries: []entry{{device: hid.Device{Node: "a", Bus: devices.USB, Descriptor: []byte{1, 2}}, id: 1}}, opened: make(chan connection, 1),
		}
		events := newHIDEvents()
		h := newManager(os, Any(func(hid.Device) bool { return true }), events.handle, platformtest.Quiet())
		conn := halved{newFailing(), new(atomic.Bool), new(atomic.Int32), new(atomic.Bool)}
		conn.kept.Store(true)
		os.opened <- conn
		require.NoError(t, readNow(t, h))
		require.Equal(t, hid.Bytes{1}, events.expect(t, hid.Attached, "a").Device.Descriptor, "rules must not rely on what is not read")
		require.Empty(t, h.noted(), "it may be a matter of moments")
		start := time.Now()
		for _, at := range append(slices.Clone(openRetries), openRetries[2]+readRetry) {
			require.NoError(t, h.Wait(t.Context()))
			require.Equal(t, at, time.Since(start))
			require.NoError(t, readNow(t, h))
			require.NoError(t, readNow(t, h))
		}
		require.EqualValues(t, len(openRetries)+1, conn.tried.Load())
		require.Len(t, h.noted(), 1)
		require.Contains(t, health.English.Phrases(h.noted())[0], "the second collection")
		require.Equal(t, readRetry, h.retry)
		require.Empty(t, events, "the rest of it is read all the while")

		conn.kept.Store(false)
		require.NoError(t, h.Wait(t.Context()))
		require.NoError(t, readNow(t, h))
		e := events.expect(t, hid.Attached, "a")
		require.Equal(t, hid.Bytes{1, 2}, e.Device.Descriptor)
		require.False(t, e.Plugged)
		require.Empty(t, h.noted())
		require.Zero(t, h.retry)
		require.NoError(t, h.Close())
		require.Empty(t, events)
	})
}

// queue is a channel with reports of its own.
type queue struct {
	whole
	reports chan string
	again   chan struct{}
	looks   []time.Time
}

func (q *queue) interrupt() {
	select {
	case q.again <- struct{}{}:
	default:
	}
}

func (q *queue) request(hid.Request) ([]byte, error) { return nil, nil }
func (q *queue) channels() []channel                 { return []channel{q} }
func (q *queue) close() error                        { close(q.reports); return nil }

func (q *queue) read(report []byte, until time.Time, empty func(time.Time)) (int, error) {
	if len(q.reports) == 0 {
		q.looks = append(q.looks, time.Now())
		empty(time.Now())
	}
	var timeout <-chan time.Time
	if !until.IsZero() {
		timeout = time.After(time.Until(until))
	}
	select {
	case r := <-q.reports:
		return copy(report, r), nil
	case <-q.again:
		return 0, os.ErrDeadlineExceeded
	case <-timeout:
		return 0, os.ErrDeadlineExceeded
	}
}

// A report was sent between when its queue was last known to be empty and when it was read. Soon after a report that is more often.
func TestWhenAReportWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &listBackend{entries: []entry{{device: hid.Device{Node: "a", Bus: devices.USB}, id: 1}}, opened: make(chan connection, 1)}
		events := newHIDEvents()
		stall := time.Duration(0)
		h := newManager(backend, Any(func(hid.Device) bool { return true }), func(e hid.Event) {
			if e.Kind != hid.Lost {
				events.handle(e)
			}
			time.Sleep(stall)
		}, platformtest.Quiet())
		q := &queue{reports: make(chan string, 100), again: make(chan struct{})}
		backend.opened <- q
		opened := time.Now()
		require.NoError(t, readNow(t, h))
		events.expect(t, hid.Attached, "a")
		report := func() hid.Event {
			q.reports <- "r"
			return events.expect(t, hid.Report, "a")
		}
		first := report()
		require.Equal(t, opened, first.Since, "nothing is queued before it is opened")
		last := first.At
		for _, apart := range []time.Duration{10, 50, 100, 400, 1000, 5000} {
			time.Sleep(apart * time.Millisecond)
			e := report()
			require.Equal(t, apart*time.Millisecond, e.At.Sub(last))
			require.GreaterOrEqual(t, 2*e.Since.Sub(last), e.At.Sub(last)-2*firstLook)
			last = e.At
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		looks := len(q.looks)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, q.looks, looks, "a silent device costs nothing")
		e := report()
		require.GreaterOrEqual(t, e.Since.Sub(last), lastLook)

		time.Sleep(time.Hour)
		h.wanted(t) // the machine has slept
		woke := time.Now()
		require.NoError(t, readNow(t, h))
		time.Sleep(time.Minute)
		require.Equal(t, woke, report().Since, "it was sent since the machine woke up")

		synctest.Wait()
		stall = 700 * time.Millisecond // the agent: two reports wait when it is over
		before := report()
		q.reports <- "r"
		time.Sleep(400 * time.Millisecond)
		q.reports <- "r"
		for range 2 {
			e = events.expect(t, hid.Report, "a")
			require.Less(t, e.Since.Sub(before.At), time.Duration(1), "neither is known to have come after the other was read")
			require.GreaterOrEqual(t, e.At.Sub(before.At), 700*time.Millisecond)
		}
		time.Sleep(stall)
		require.NoError(t, h.Close())
	})
}

// What could not be told of a device, as on a busy machine, is asked once more.
func TestADeviceThatIsUnclearIsLookedAtAgain(t *testing.T) {
	unreadable := entry{unreadable: health.Wrap(platform.ErrNoAnswer, health.Unexplained, health.Warning, nil)}
	unreadable.device.Node = "a"
	os := &listBackend{entries: []entry{unreadable, {device: hid.Device{Node: "b", Bus: devices.USB}, id: 1}}}
	h := newManager(os, Any(func(hid.Device) bool { return false }), func(hid.Event) {}, platformtest.Quiet())
	require.NoError(t, readNow(t, h))
	require.Len(t, h.noted(), 1)
	require.Equal(t, readRetry, h.retry)
	os.entries = os.entries[1:]
	require.NoError(t, readNow(t, h))
	require.Empty(t, h.noted())
	require.Zero(t, h.retry)
	require.NoError(t, h.Close())
}

func readNow(t *testing.T, h Devices) error {
	_, err := h.Read(t.Context())
	return err
}

// noted is what the last Read has noted.
func (h *manager) noted() []health.Condition {
	h.listing.Lock()
	defer h.listing.Unlock()
	return append(h.backend.unwatched(), h.notes...)
}

// wanted has the next Read read everything.
func (h *manager) wanted(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Wait(ended), context.Canceled)
}
