package service

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sys/windows"

	"sidetone/internal/brand"
	"sidetone/internal/installation"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/session"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/service/tasks"
)

// hostVerb has the tray's program, which has no console, keep the agent running.
const hostVerb = "host"

// starter is one way in which Windows starts the agent.
type starter interface {
	kind() Kind
	path() string // of the definition, for people
	// current returns how the agent is registered; without a command it is not.
	current() (registration, error)
	install() (Step, error)
	remove() Step
}

// registration describes how an agent is registered.
type registration struct {
	command []string // the agent's program and its arguments; nil: it is not registered, or by somebody else
	starts  bool     // the user has not switched it off
	same    bool     // exactly as install would register it
	foreign string   // the command line of another program under the agent's name; "": none
}

// leaving is the step that leaves another program's registration alone.
func leaving(path, line string) Step {
	return Step{Text: "left as it is: " + path + ", which starts another program, " + line}
}

// hostCommand is what Windows starts at log-in.
func (a Agent) hostCommand() []string {
	return append([]string{brand.TrayOf(a.Executable), hostVerb}, a.Arguments...)
}

// hosted returns the agent's command from such a command line, or nil.
func hosted(command []string) []string {
	if len(command) < 2 || command[1] != hostVerb {
		return nil
	}
	return append([]string{brand.AgentOf(command[0])}, command[2:]...)
}

// runKey registers by a value of a Run key.
type runKey struct {
	Agent
	key desktop.RunKey
}

func (r runKey) kind() Kind      { return Run }
func (r runKey) path() string    { return r.key.Path(r.Name) }
func (r runKey) command() string { return windows.ComposeCommandLine(r.hostCommand()) }

func (r runKey) current() (reg registration, err error) {
	line, foreign, err := r.key.Read(r.Name, brand.TrayOf(r.Executable))
	if line == "" {
		return registration{foreign: foreign}, err
	}
	words, err := windows.DecomposeCommandLine(line)
	return registration{command: hosted(words), starts: !r.key.SwitchedOff(r.Name), same: line == r.command()}, err
}

func (r runKey) install() (Step, error) {
	return Step{"write " + r.path() + ":\n\n    " + r.command(), func(context.Context) error {
		return r.key.Set(r.Name, r.command())
	}}, nil
}

func (r runKey) remove() Step {
	return Step{"remove " + r.path(), func(context.Context) error { return r.key.Remove(r.Name) }}
}

// Variables for tests: Wine drops from a definition what it does not know.
var (
	readTask  = tasks.Read
	writeTask = tasks.Register
)

// logonTask registers by a scheduled task, of one user or of all.
type logonTask struct {
	Agent
	user string // SID; "": of all
}

func (l logonTask) kind() Kind { return Task }

// name is the task's name. All users' tasks are in one folder.
func (l logonTask) name() string {
	if l.user == "" {
		return l.Name
	}
	return l.Name + "-" + l.user
}

func (l logonTask) path() string { return `Task Scheduler Library\` + l.name() }

func (l logonTask) text() string {
	command := l.hostCommand()
	return tasks.Text(l.Name, l.user, command[0], windows.ComposeCommandLine(command[1:]))
}

func (l logonTask) current() (reg registration, err error) {
	task, err := readTask(l.name())
	if err != nil || task.Text == "" {
		return reg, err
	}
	program, arguments, version, err := tasks.Parse(task.Text)
	if err != nil {
		return registration{foreign: "something else"}, nil
	}
	line := windows.EscapeArg(program) + " " + arguments
	words, err := windows.DecomposeCommandLine(line)
	if err != nil || installation.IsOther(program, brand.TrayOf(l.Executable)) {
		return registration{foreign: line}, nil
	}
	wanted := l.hostCommand()
	same := version == tasks.Version && program == wanted[0] && arguments == windows.ComposeCommandLine(wanted[1:])
	own := l.user != "" || acl.IsAdministrators(task.Owner) // otherwise its owner could change what all users start
	return registration{command: hosted(words), starts: task.Enabled, same: same && task.Enabled && own}, nil
}

func (l logonTask) install() (Step, error) {
	text := fmt.Sprintf("register the task %s:\n\n%s", l.name(), indent(l.text()))
	return Step{strings.TrimSuffix(text, "\n"), func(context.Context) error { return writeTask(l.name(), l.text(), l.user == "") }}, nil
}

func (l logonTask) remove() Step {
	return Step{"remove the task " + l.name(), func(context.Context) error { return tasks.Remove(l.name()) }}
}

// starters returns all ways in which Windows may start the agent for this user, or for all users.
func (a Agent) starters(all bool) (list []starter) {
	if all {
		return []starter{runKey{a, desktop.RunOfAll}, logonTask{a, ""}, winService{a}}
	}
	return []starter{runKey{a, desktop.RunOfUser}, logonTask{a, session.User()}}
}
