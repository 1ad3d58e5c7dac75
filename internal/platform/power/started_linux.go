package power

import "time"

// Started is when the machine was started, by the clock on the wall as it is now.
func Started() time.Time { return time.Now().Round(0).Add(-kernelClocks().boot()) }
