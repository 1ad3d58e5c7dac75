// Package wasapi reads audio endpoints from Windows' Core Audio and notices their changes: a Client. Decisions are in files for every
// system, calls in files for Windows.
//
// One thread owns all objects of Core Audio, so a call that hangs costs that thread, and nobody waits for it beyond their deadline.
// Callbacks record what has changed, notify, and return.
package wasapi

import (
	"context"
	"errors"
	"fmt"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// Options configure a Client.
type Options struct {
	Changed func()                        // called when something may have changed, on any thread; it returns at once
	Effects func(e devices.Endpoint) bool // whether to read an endpoint's effects, for which a stream is held; nil: never
}

// A Reading is the current state.
type Reading struct {
	Endpoints []devices.Endpoint // in the order of type and id
	Faults    []Fault            // what could not be read
}

// A Fault is a part of an endpoint that could not be read.
type Fault struct {
	Endpoint string // its name, or id
	Err      error
}

var (
	// errSilent means that a call, or an earlier one, has not returned in time.
	errSilent = errors.New("the audio service of Windows does not answer")
	// errAway means that the service, or the way to it, is missing.
	errAway = errors.New("the audio service of Windows is not there")
)

// trouble wraps an error in its condition: the service does not answer, or else is missing.
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

// silent returns the error of a call that was given up.
func silent(ctx context.Context) error { return fmt.Errorf("%w: %w", errSilent, ctx.Err()) }

// Condition returns the fault as users are told.
func (f Fault) Condition() health.Condition {
	return health.Wrap(f.Err, health.EndpointUnreadable, health.Warning, health.Args{"endpoint": f.Endpoint}).Condition
}
