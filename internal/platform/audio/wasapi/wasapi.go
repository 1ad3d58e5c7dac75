// Package wasapi reads audio endpoints from Windows' Core Audio, and hears of their changes: a Client. What is decided about what
// Windows says is in files for every system, the calls are in files for Windows.
//
// One thread owns all that is Core Audio's, so that a call that hangs costs that thread, and nobody waits for it beyond his deadline.
// What Windows calls notes what has changed, says so and returns.
package wasapi

import (
	"context"
	"errors"
	"fmt"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Options say what a Client goes by.
type Options struct {
	Changed func()                        // called when something may have changed, on any thread; it returns at once
	Effects func(e devices.Endpoint) bool // of which endpoints the effects are wanted, that is, a stream held; nil: of none
}

// A Reading is what Windows says now.
type Reading struct {
	Endpoints []devices.Endpoint // in the order of type and id
	Faults    []Fault            // what it does not say
}

// A Fault is something of one endpoint that could not be read.
type Fault struct {
	Endpoint string // its name, or id
	Err      error
}

var (
	// errSilent is that a call has not returned in time, or that an earlier one still has not.
	errSilent = errors.New("the audio service of Windows does not answer")
	// errAway is that the service, or what it is reached by, is not there.
	errAway = errors.New("the audio service of Windows is not there")
)

// trouble makes of an error the condition that it is: that the service does not answer, else that it is not there.
func trouble(err error) error {
	code := health.AudioServiceAway
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errSilent):
		code = health.AudioServiceSilent
	default:
		err = fmt.Errorf("%w: %w", errAway, err)
	}
	return health.Wrap(err, code, health.Warning, nil)
}

// silent is why a call was given up.
func silent(ctx context.Context) error { return fmt.Errorf("%w: %w", errSilent, ctx.Err()) }

// Condition is the fault as what users are told.
func (f Fault) Condition() health.Condition {
	return health.Wrap(f.Err, health.EndpointUnreadable, health.Warning, health.Args{"endpoint": f.Endpoint}).Condition
}
