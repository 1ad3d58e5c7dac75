// Package service starts the agent at log-in and keeps it running as long as the session: registration, life cycle and state. Sound, HID
// devices and the client's socket belong to the session, so an agent belongs to one user and never to the machine.
//
// github.com/kardianos/service does what all service managers have in common: it writes and removes the definition, enables and disables
// it, and starts, stops and restarts the service. The content of the definition is ours, and so is what that package lacks: the current
// state, a dry run, the log, and the agent's own word that it is ready and alive (Notifier).
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
)

// Kind is a way to start the agent.
type Kind string

// The kinds.
const (
	Systemd   Kind = "systemd"   // a unit of the user's service manager
	Autostart Kind = "autostart" // an entry that the desktop starts at log-in
	Run       Kind = "run"       // a value of a Run key, which Windows starts at log-in
	Task      Kind = "task"      // a task of Windows' Task Scheduler that runs at log-in
	Service   Kind = "service"   // a service of Windows, with an agent in each session
)

// Kinds returns the names of all kinds.
func Kinds() []string {
	return []string{string(Systemd), string(Autostart), string(Run), string(Task), string(Service)}
}

// Agent is the agent to register.
type Agent struct {
	Name       string   // of the unit or entry: the program's, so that two vendors' do not collide
	Executable string   // absolute path
	Arguments  []string // with which it runs

	Tray desktop.Entry // started at log-in, too; without a command: there is no tray

	// Running finds the running agent, whoever started it. fs.ErrNotExist means that none runs.
	Running func(context.Context) (Process, error)
	// LogFile returns the path of the log that the agent keeps without a journal.
	LogFile func(context.Context) (string, error)
}

// Process is a running agent.
type Process struct {
	PID     int
	Started time.Time
	Stop    func(context.Context) error // asks it to end in order; it may run on for a moment
}

// Installer plans an installation or its removal. The plan is empty if nothing is to be done.
type Installer interface {
	Install(context.Context) (Plan, error)
	Uninstall(context.Context) (Plan, error)
	// Arguments returns the arguments that the agent is registered with, or nil if it is not, or not by us.
	Arguments(context.Context) ([]string, error)
}

// Manager registers and controls one user's agent.
type Manager interface {
	Installer
	// Start, Stop and Restart return plans, too.
	Start(context.Context) (Plan, error)
	Stop(context.Context) (Plan, error)
	Restart(context.Context) (Plan, error)

	State(context.Context) (State, error)
	// Logs writes the last lines of the agent's log and, with follow, new ones until ctx ends.
	Logs(ctx context.Context, w io.Writer, lines int, follow bool) error
}

// State is the state of the registered agent.
type State struct {
	Kind      Kind      `json:"kind"`
	Path      string    `json:"path"`              // of the definition
	Installed bool      `json:"installed"`         // the definition exists
	Missing   string    `json:"missing,omitempty"` // the program that the definition starts, if it is not there, as after an update
	Enabled   bool      `json:"enabled"`           // it starts at log-in
	Tray      bool      `json:"tray"`              // the icon starts at log-in
	Running   bool      `json:"running"`
	Waiting   bool      `json:"waiting,omitempty"` // it starts, or is about to be started again
	PID       int       `json:"pid,omitempty"`
	Since     time.Time `json:"since,omitzero"`   // of Running
	Restarts  int       `json:"restarts"`         // after failures, since it was started; nothing restarts one of Autostart
	Result    string    `json:"result,omitempty"` // how it failed, in systemd's words, as watchdog or start-limit-hit; "": it has not
	Exit      int       `json:"exit,omitempty"`   // the code, or the number of the signal, with which it ended last
}

// EndedWith reports whether the agent has ended with that exit code and will not be restarted by itself.
func (s State) EndedWith(code int) bool { return !s.Running && s.Result != "" && s.Exit == code }

// Step is one step of a Plan.
type Step struct {
	Text string                      // what it does, as commands where there are any
	do   func(context.Context) error // nil: nothing is done, and Text says what is left as it is
}

// Plan lists what is to be done, in order. Nothing has been done yet.
type Plan []Step

// Do performs the steps until one fails.
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

// Left returns the steps that do nothing but say what is left as it is, and why.
func (p Plan) Left() Plan {
	return slices.DeleteFunc(slices.Clone(p), func(s Step) bool { return s.do != nil })
}

// String returns the texts of all steps.
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

// entry is the agent's autostart entry.
func (a Agent) entry() desktop.Entry {
	return desktop.Entry{ID: a.Name, Name: a.Name, Comment: tasks.About, Command: append([]string{a.Executable}, a.Arguments...)}
}

// check refuses names and arguments that no definition can hold.
func (a Agent) check() error {
	for _, word := range append([]string{a.Name, a.Executable}, a.Arguments...) {
		if strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return fmt.Errorf("%q has a control character, which neither a unit nor an autostart entry can hold: rename it", word)
		}
	}
	return nil
}
