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
	"slices"
	"strings"
	"time"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/service/tasks"
	"sidetone/internal/supervise"
)

// Kind is what starts the agent.
type Kind string

// The kinds.
const (
	Systemd   Kind = "systemd"   // a unit of the user's service manager
	Autostart Kind = "autostart" // an entry that the desktop starts at log-in
	Run       Kind = "run"       // a value of a Run key, which Windows starts at log-in
	Task      Kind = "task"      // a task of Windows' Task Scheduler, likewise
	Service   Kind = "service"   // a service of Windows, with an agent in each session
)

// Kinds are their names, as users say them.
func Kinds() []string {
	return []string{string(Systemd), string(Autostart), string(Run), string(Task), string(Service)}
}

// The codes of sysexits.h with which an agent ends that a service manager has started, where a new start would not help.
const (
	// ExitConfig says that there are no settings to work with. It is not the usual 2, with which a Go program ends that panics, and
	// which must be started again.
	ExitConfig = supervise.ExitConfig
	// ExitRunning says that another agent of this user, or for the same client id, runs already.
	ExitRunning = supervise.ExitRunning
)

// Agent is what is to be registered.
type Agent struct {
	Name       string   // of unit or entry: that of the program, so that those of two vendors do not meet
	Executable string   // absolute path
	Arguments  []string // with which it runs

	Tray desktop.Entry // is started at log-in as well; without a command: there is no such program

	// Running finds the one that runs, whoever has started it. fs.ErrNotExist means that none does.
	Running func(context.Context) (Process, error)
	// LogFile is the path of the log that it keeps where there is no journal.
	LogFile func(context.Context) (string, error)
}

// Process is an agent that runs.
type Process struct {
	PID     int
	Started time.Time
	Stop    func(context.Context) error // has it end in order; it may live on for a moment
}

// Installer plans what leads to what its methods' names say; if that is so already, nothing.
type Installer interface {
	Install(context.Context) (Plan, error)
	Uninstall(context.Context) (Plan, error)
	// Arguments are those with which the agent is registered now; nil: it is not, or by a definition that is not ours.
	Arguments(context.Context) ([]string, error)
}

// Manager registers one user's agent with one kind of starter.
type Manager interface {
	Installer
	// Start, Stop and Restart plan likewise.
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
	Tray      bool      `json:"tray"`      // the icon starts at log-in
	Running   bool      `json:"running"`
	Waiting   bool      `json:"waiting,omitempty"` // it starts, or is about to be started again
	PID       int       `json:"pid,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // of Running
	Restarts  int       `json:"restarts"`         // after failures, since it was started; nothing restarts one of Autostart
	Result    string    `json:"result,omitempty"` // how it failed, in systemd's words, as watchdog or start-limit-hit; "": it has not
	Exit      int       `json:"exit,omitempty"`   // the code, or the number of the signal, with which it ended last
}

// EndedWith reports whether the agent has ended with a code of this package, and is not started again until somebody does.
func (s State) EndedWith(code int) bool { return !s.Running && s.Result != "" && s.Exit == code }

// Step is one thing to do.
type Step struct {
	Text string                      // what it does, in commands as far as there are any
	do   func(context.Context) error // nil: nothing, something is left as it is
}

// Plan is what is to be done, in order. Nothing has been done yet.
type Plan []Step

// Do does it, up to the first step that fails.
func (p Plan) Do(ctx context.Context) error {
	for _, s := range p {
		if s.do == nil {
			continue
		}
		if err := s.do(ctx); err != nil {
			first, _, _ := strings.Cut(s.Text, "\n")
			return fmt.Errorf("%s: %w", strings.TrimSuffix(first, ":"), err)
		}
	}
	return nil
}

// Left are the steps that do nothing: what is left as it is, and why.
func (p Plan) Left() Plan {
	return slices.DeleteFunc(slices.Clone(p), func(s Step) bool { return s.do != nil })
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

// entry has a desktop start the agent.
func (a Agent) entry() desktop.Entry {
	return desktop.Entry{ID: a.Name, Name: a.Name, Comment: tasks.About, Command: append([]string{a.Executable}, a.Arguments...)}
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
