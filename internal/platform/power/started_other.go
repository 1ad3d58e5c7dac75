//go:build !linux

package power

import "time"

// Started is when the machine was started; zero: nobody knows.
func Started() time.Time { return time.Time{} }
