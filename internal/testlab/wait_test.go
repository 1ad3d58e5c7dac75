package testlab_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

func TestUntilLooksAfterEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan int, 1)
		looks := 0
		go func() {
			for i := range 3 {
				time.Sleep(time.Second)
				events <- i
			}
		}()
		begun := time.Now()
		require.True(t, testlab.Until(func() <-chan int { return events }, func() bool { looks++; return looks == 4 }))
		require.Equal(t, 3*time.Second, time.Since(begun))
		require.False(t, testlab.Until(func() <-chan int { return events }, func() bool { return false }), "it gives up")
	})
}

func TestEventuallyNeedsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		testlab.Eventually(t, "a second has passed", func() bool { return time.Since(begun) >= time.Second })
		require.Equal(t, time.Second, time.Since(begun))
	})
}
