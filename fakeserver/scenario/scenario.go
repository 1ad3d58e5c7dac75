package scenario

import (
	"context"
	"path/filepath"
	"time"

	"sidetone/fakeserver"
)

// A Scenario is a file that was read. It can be run any number of times, one after another.
type Scenario struct {
	name    string
	file    string
	clients []clientSpec
	setup   []step
	steps   []step
}

// Name is what the file calls itself, or else the name of the file.
func (s *Scenario) Name() string { return s.name }

// folder is where relative paths of the file start.
func (s *Scenario) folder() string { return filepath.Dir(s.file) }

// A clientSpec is one fake client of a scenario.
type clientSpec struct {
	name       string
	line       int
	stopped    bool // does not run at the beginning
	privateIPC bool // its IPC socket is in the folder of the run
	options    fakeserver.Options
}

// A step is one thing to do or to look at.
type step struct {
	line  int
	title string // what reports call it
	do    action
}

// An action is what a step does.
type action interface {
	// String is what the step does, in words.
	String() string
	// run does it. A result that has failed ends the run when the action is not an expectation.
	run(ctx context.Context, r *runner) outcome
}

// An expectation looks at what the clients were told and changes nothing. The times of
// expectations count from the end of the action before them.
type expectation interface {
	expected() string // in words
	judged() string   // name of the client
}

// A limited action takes no longer than that; 0: as long as it likes.
type limited interface{ limit() time.Duration }

// An outcome is what became of an action.
type outcome struct {
	failed   bool
	measured *time.Duration // from the end of the action before to the payload that brought what was expected
	seen     string
	excerpt  string // of a payload or of a program's output, when it has failed
}

func failure(seen string) outcome { return outcome{failed: true, seen: seen} }
