package linux

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestABurstIsReadOnce reads what arrives all the time.
func TestABurstIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, err := os.Open(os.DevNull)
		require.NoError(t, err)
		start, reads := time.Now(), 0
		r := StartReader(file, func() error {
			reads++
			if reads > 20 {
				return os.ErrClosed
			}
			return ErrBurst
		}, func() {})
		<-r.done
		require.Equal(t, 20*burstPause, time.Since(start))
	})
}

func TestAPauseEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, err := os.Open(os.DevNull)
		require.NoError(t, err)
		start, reads := time.Now(), 0
		r := StartReader(file, func() error {
			reads++
			if reads > 1 {
				return os.ErrClosed
			}
			return ErrBurst
		}, func() {})
		synctest.Wait()
		require.NoError(t, r.Close())
		require.Zero(t, time.Since(start))
		require.NoError(t, r.Failed())
	})
}
