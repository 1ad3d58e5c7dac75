package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
)

// slowSource lists an endpoint, and of it only after a while all that there is to know.
type slowSource struct{ readings int }

func (s *slowSource) Name() string     { return "slow" }
func (s *slowSource) Close() error     { return nil }
func (s *slowSource) Incomplete() bool { return s.readings == 1 }

func (s *slowSource) List(context.Context) ([]devices.Endpoint, error) {
	s.readings++
	return []devices.Endpoint{{ID: "a", SeenBy: []string{"slow", "miniaudio"}[:s.readings]}}, nil
}

func (s *slowSource) Wait(ctx context.Context) error {
	if s.readings == 1 {
		time.Sleep(2 * lateListWait)
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestALookWaitsForWhatASourceStillAsksFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := observe(t.Context(), []platform.Watcher{&slowSource{}})["slow"].Endpoints
		require.Equal(t, []string{"slow", "miniaudio"}, seen[0].SeenBy)
	})
}
