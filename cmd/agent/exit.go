package main

import (
	"errors"
	"fmt"

	"sidetone/internal/app"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/service"
)

// The exit codes, as every verb's help documents them.
const (
	exitOK       = 0
	exitFailed   = 1 // it was tried and did not work, or the answer is no
	exitBadInput = 2 // flags, settings or a file are wrong; nothing was done
)

// badInput marks an error that the user's input caused.
func badInput(err error) error { return app.InputError{Err: err} }

// exitCode ends with a code when everything has been said already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// exitCodeOf returns with which code a program that was called with args ends after err, and whether all has been said already.
func exitCodeOf(err error, args []string) (code int, said bool) {
	var silent exitCode
	switch {
	case err == nil:
		return exitOK, true
	case errors.As(err, &silent):
		return int(silent), true
	case len(args) > 0 && args[0] == "run" && service.Supervised(host.Getenv):
		return supervisedExit(err), false
	case errors.As(err, new(app.InputError)):
		return exitBadInput, false
	default:
		return exitFailed, false
	}
}

// supervisedExit tells a service manager whether a new start may help.
func supervisedExit(err error) int {
	switch {
	case errors.As(err, new(app.InputError)):
		return service.ExitConfig
	case errors.As(err, new(*ipc.ErrRunning)):
		return service.ExitRunning
	default:
		return exitFailed
	}
}
