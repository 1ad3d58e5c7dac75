package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// TestSnapshotTellsItsEvent: At is the time of the event behind the change, not of the event
// that happened to come last. What is logged as latency depends on it.
func TestSnapshotTellsItsEvent(t *testing.T) {
	run(t, []string{"audio", "camera"}, func(b *bench) {
		at := func(want time.Time) {
			t.Helper()
			synctest.Wait()
			all := b.published()
			require.Equal(t, want, all[len(all)-1].At)
		}
		b.see("camera")
		b.see("audio", mic(devices.False))
		at(time.Now())

		time.Sleep(time.Hour)
		gone := time.Now()
		b.see("audio")
		time.Sleep(grace / 2)
		b.see("camera") // says nothing new
		time.Sleep(grace)
		require.Empty(t, b.last())
		at(gone)

		b.see("audio", mic(devices.False))
		b.fail("audio")
		time.Sleep(stale)
		at(time.Now())
		require.Empty(t, b.last())

		b.see("audio", mic(devices.False))
		time.Sleep(time.Hour)
		r, err := devices.NewResolver(&devices.Catalogue{}, devices.Options{OS: devices.Linux})
		require.NoError(t, err)
		b.Configure(Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale})
		at(time.Now())
	})
}

func TestFirstSnapshotAfterPatienceIsDated(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.fail("audio")
		time.Sleep(stale)
		synctest.Wait()
		require.Equal(t, time.Now(), b.published()[0].At)
	})
}
