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

func (s *slowSource) Name() string { return "slow" }
func (s *slowSource) Close() error { return nil }

func (s *slowSource) Read(context.Context) (platform.Reading, error) {
	s.readings++
	endpoint := devices.Endpoint{ID: "a", SeenBy: []string{"first", "second"}[:s.readings]}
	return platform.Reading{Endpoints: []devices.Endpoint{endpoint}}, nil
}

func (s *slowSource) Wait(ctx context.Context) error {
	if s.readings == 1 {
		time.Sleep(lateListWait / 2)
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestALookWaitsAMomentForWhatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := observe(t.Context(), []platform.Source{&slowSource{}})["slow"].Endpoints
		require.Equal(t, []string{"first", "second"}, seen[0].SeenBy)
	})
}
