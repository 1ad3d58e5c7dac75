package conform

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBucket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const refill = 30 * time.Second
		b := &tokenEstimate{refill: refill, at: time.Now()}
		wait := func() time.Duration { return b.wait(time.Now()) }

		require.Equal(t, refill, wait(), "others may have spent all")
		b.spend(time.Now())
		require.Equal(t, 2*refill, wait(), "the request may still stand in line")
		b.answered(time.Now())
		require.Equal(t, refill, wait(), "it is through")

		time.Sleep(refill)
		require.Zero(t, wait())
		b.spend(time.Now())
		require.Equal(t, refill, wait())

		time.Sleep(10 * refill)
		for range capacity {
			require.Zero(t, wait())
			b.spend(time.Now())
			b.answered(time.Now())
		}
		require.Equal(t, refill, wait(), "it holds two at most")
		require.Equal(t, 4, b.spent)
	})
}
