package power

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
)

func TestClocksOfTheKernel(t *testing.T) {
	c := kernelClocks()
	before, began := c.slept(), c.monotonic()
	require.GreaterOrEqual(t, before, time.Duration(0))
	require.Positive(t, began)
	require.InDelta(t, c.slept(), before, float64(sleepMin), "this machine sleeps while it tests")
}

// TestAClockThatIsSetIsHeard sets this machine's clock to what it shows, which the kernel tells
// like any other setting.
func TestAClockThatIsSetIsHeard(t *testing.T) {
	platformtest.NoLeak(t)
	heard, broke := signal.New(), signal.New()
	r, err := watchClockJumps(heard.Notify, broke.Notify)
	require.NoError(t, err)
	defer r.Close()
	for range 2 {
		var now unix.Timespec
		require.NoError(t, unix.ClockGettime(unix.CLOCK_REALTIME, &now))
		err := unix.ClockSettime(unix.CLOCK_REALTIME, &now)
		if errors.Is(err, unix.EPERM) {
			t.Skip("only root of this machine can set its clock")
		}
		require.NoError(t, err)
		platformtest.AwaitSignal(t, heard)
	}
	require.NoError(t, r.Close())
	require.Empty(t, broke)
	require.NoError(t, r.Failed())
	require.ErrorIs(t, r.Close(), os.ErrClosed)
}
