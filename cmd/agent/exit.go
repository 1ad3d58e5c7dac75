package main

import (
	"errors"
	"fmt"

	"sidetone/internal/app"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/service"
	"sidetone/internal/supervise"
)

// The exit codes that every verb's help documents.
const (
	exitOK       = 0
	exitFailed   = 1 // the operation failed, or the answer is no
	exitBadInput = 2 // flags, settings or a file are wrong; nothing was done
)

// badInput marks an error that the user's input caused.
func badInput(err error) error { return app.InputError{Err: err} }

// badFile is badInput for the error of a file that openInterruptible has opened, but leaves errInterrupted as it is.
func badFile(err error) error {
	if errors.Is(err, errInterrupted) {
		return errInterrupted
	}
	return badInput(err)
}

// exitCode is an error that only sets the exit code, because its message has already been printed.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// exitCodeOf returns the exit code for the error of a program called with args, and whether its message has already been printed.
func exitCodeOf(err error, args []string) (code int, said bool) {
	var silent exitCode
	// Its supervisor learns from the code whether a restart may help.
	supervised := len(args) > 0 && args[0] == "run" && service.Supervised(host.Getenv)
	switch {
	case err == nil:
		return exitOK, true
	case errors.As(err, &silent):
		return int(silent), true
	case supervised && errors.As(err, new(app.InputError)):
		return supervise.ExitConfig, false
	case supervised && errors.As(err, new(*ipc.ErrRunning)):
		return supervise.ExitRunning, false
	case errors.As(err, new(app.InputError)):
		return exitBadInput, false
	default:
		return exitFailed, false
	}
}

// exitOf replaces Run's error by one whose exit code tells the agent's supervisor how the agent ended. Every end of the process goes
// through here: when Run returns, when the rest hangs, and when Windows does not wait for it.
func exitOf(how app.Ending, err error, supervised bool) error {
	code, is := map[app.Ending]exitCode{
		app.EndsForUpdate: supervise.ExitUpdate, app.EndsWithSession: supervise.ExitSession,
	}[how]
	if !is || !supervised {
		return err
	}
	return code
}
