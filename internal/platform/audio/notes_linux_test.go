package audio

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// TestWhatMiniaudioLacksIsSaid: that it hangs, or the reason that it gives.
func TestWhatMiniaudioLacksIsSaid(t *testing.T) {
	for err, want := range map[error]health.Code{errMiniaudioHangs: health.MiniaudioHangs, errors.New("miniaudio: no server"): health.MiniaudioFails} {
		notes := (&companion{last: enumeration{err: err}}).notes()
		require.Len(t, notes, 1)
		require.Equal(t, want, notes[0].Code)
		healthtest.Raised(t, notes...)
	}
}
