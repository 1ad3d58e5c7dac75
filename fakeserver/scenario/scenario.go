package scenario

import (
	"context"
	"time"

	"sidetone/fakeserver"
)

// A Scenario is a file that was loaded. It can be run any number of times, but only one at a
// time.
type Scenario struct {
	name    string // in the file, or else of the file
	file    string
	clients []clientSpec
	setup   []step
	steps   []step
}

// A clientSpec is one fake client of a scenario.
type clientSpec struct {
	name       string
	line       int
	stopped    bool // does not run at the beginning
	privateIPC bool // its IPC socket is in the folder of the run
	options    fakeserver.Options
}

// A step is one thing to do or to expect.
type step struct {
	line  int
	title string // for reports
	do    action
}

type action interface {
	// String describes what the step does.
	String() string
	// run executes it. If it fails, the run ends, except if it is an expectation.
	run(ctx context.Context, r *runner) outcome
}

// An expectation looks at what the clients were told and changes nothing. Its times count from
// the end of the action before.
type expectation interface {
	expected() string // in words
}

// A limited action has a maximum time; 0: none.
type limited interface{ limit() time.Duration }

// An outcome is the result of an action.
type outcome struct {
	failed   bool
	measured *time.Duration // from the end of the action before to the payload that brought what was expected
	seen     string
	excerpt  string // if failed: of a payload or of a program's output
}

func failure(seen string) outcome { return outcome{failed: true, seen: seen} }
