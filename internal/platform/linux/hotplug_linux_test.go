package linux

import (
	"testing"

	"golang.org/x/sys/unix"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
)

// TestWhatIsNotHeardIsRecorded for each kind of device that is watched.
func TestWhatIsNotHeardIsRecorded(t *testing.T) {
	for _, kind := range []string{"camera", "HID device"} {
		for _, code := range []health.Code{health.PlugsUnheard, health.AccessUnwatched, health.DevicesUnwatched} {
			healthtest.Raised(t, health.Wrap(unix.EMFILE, code, health.Warning, health.Args{"device": kind}).Condition)
		}
	}
}
