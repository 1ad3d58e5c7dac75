// Package service has the agent start at log-in and live as long as the session: registration, life and what the system says of
// it. Sound, HID devices and the client's socket belong to the session, so the agent is one user's and never the machine's.
//
// github.com/kardianos/service does what service managers of all systems have in common: it writes and removes the definition,
// enables and disables it, starts, stops and restarts. What the definition says is ours, and so is all that it has no word for:
// what there is already, a dry run, the state, the log, and the agent's own word that it runs and still answers (Notifier).
package service

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Kind is what starts the agent.
type Kind string

// The kinds.
const (
	Systemd   Kind = "systemd"   // a unit of the user's service manager
	Autostart Kind = "autostart" // an entry that the desktop starts at log-in
)

// ExitConfig ends an agent that a service manager has started and that has no settings to work with: a new start would not help. It
// is not the usual 2, with which a Go program ends that panics, and which must be started again. sysexits.h calls it EX_CONFIG.
const ExitConfig = 78

// Agent is what is to be registered.
type Agent struct {
	Name       string   // of unit or entry: that of the program, so that those of two vendors do not meet
	Executable string   // absolute path
	Arguments  []string // with which it runs

	// Running finds the one that runs, whoever has started it. fs.ErrNotExist means that none does.
	Running func(context.Context) (Process, error)
}

// Process is an agent that runs.
type Process struct {
	PID     int
	Started time.Time
}

// Manager registers one agent with one kind of starter.
type Manager interface {
	// Install, Uninstall, Start, Stop and Restart plan what leads to what their names say; if that is so already, nothing.
	Install(context.Context) (Plan, error)
	Uninstall(context.Context) (Plan, error)
	Start(context.Context) (Plan, error)
	Stop(context.Context) (Plan, error)
	Restart(context.Context) (Plan, error)

	// State is how it is.
	State(context.Context) (State, error)
	// Logs writes the last lines of the agent's log, and with follow all that come, until ctx ends.
	Logs(ctx context.Context, w io.Writer, lines int, follow bool) error
}

// State is how the registered agent is.
type State struct {
	Kind      Kind      `json:"kind"`
	Path      string    `json:"path"`      // of the definition
	Installed bool      `json:"installed"` // the definition is there
	Enabled   bool      `json:"enabled"`   // it starts at log-in
	Running   bool      `json:"running"`
	Waiting   bool      `json:"waiting,omitempty"` // it starts, or is about to be started again
	PID       int       `json:"pid,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // of Running
	Restarts  int       `json:"restarts"`         // after failures, since it was started; nothing restarts one of Autostart
	Result    string    `json:"result,omitempty"` // how it failed, in systemd's words, as watchdog or start-limit-hit; "": it has not
	Exit      int       `json:"exit,omitempty"`   // the code, or the number of the signal, with which it ended last
}

// Misconfigured reports whether the agent found its settings wrong and is not started again until somebody does.
func (s State) Misconfigured() bool { return !s.Running && s.Result != "" && s.Exit == ExitConfig }

// Step is one thing to do.
type Step struct {
	Text string // what it does, in commands as far as there are any
	do   func(context.Context) error
}

// Plan is what is to be done, in order. Nothing has been done yet.
type Plan []Step

// Do does it, up to the first step that fails.
func (p Plan) Do(ctx context.Context) error {
	for _, s := range p {
		if err := s.do(ctx); err != nil {
			first, _, _ := strings.Cut(s.Text, "\n")
			return fmt.Errorf("%s: %w", strings.TrimSuffix(first, ":"), err)
		}
	}
	return nil
}

// String says it, step by step.
func (p Plan) String() string {
	var b strings.Builder
	for _, s := range p {
		fmt.Fprintln(&b, s.Text)
	}
	return b.String()
}

// writing is the text of a step that writes a file.
func writing(path, text string) string {
	return fmt.Sprintf("write %s:\n\n%s", path, indent(text))
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			line = "    " + line
		}
		b.WriteString(line)
	}
	return b.String()
}

// check refuses what no definition can say.
func (a Agent) check() error {
	for _, word := range append([]string{a.Name, a.Executable}, a.Arguments...) {
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q has a control character, which neither a unit nor an autostart entry can hold: rename it", word)
		}
	}
	return nil
}
