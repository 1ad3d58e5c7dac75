package wasapi

import (
	"errors"

	"sidetone/internal/platform/windows/com"
)

// absent are the results of calls to a service that is not there.
var absent = []com.HRESULT{
	com.Disconnected, com.ServerDied, com.ServerDiedBeforeCall, com.NotConnected, com.ServiceDisabled, com.ServiceNotActive,
	com.ServerUnavailable, com.CallFailed, com.CallFailedBeforeStart, com.AudioNotRunning,
}

// unsupported are those of what an endpoint, or this Windows, does not have.
var unsupported = []com.HRESULT{com.NotImplemented, com.NoInterface, com.NotFound}

func isAny(err error, results []com.HRESULT) bool {
	for _, r := range results {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}
