//go:build !linux

package power

import "time"

var processStart = time.Now()

// Elapsed is how long this process runs. No change of the wall clock moves it; whether it counts sleep is the system's choice.
func Elapsed() time.Duration { return time.Since(processStart) }
