package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/brand"
	"sidetone/internal/installation"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/windows/eventsource"
)

// manager has Windows start the agent of this user, or those of all users, at log-in.
type manager struct {
	Agent
	as  Kind // how to install; "": as it is installed now, else by the Run key
	all bool
}

// New registers the agent for this user.
func New(a Agent, as Kind, _ func(string) string) (Manager, error) {
	if as == Service {
		return nil, errors.New("a service is one for all users: add --global")
	}
	return &manager{a, as, false}, a.checkKind(as)
}

// NewGlobal registers the agent for all users of this machine.
func NewGlobal(a Agent, as Kind) (Installer, error) { return &manager{a, as, true}, a.checkKind(as) }

func (a Agent) checkKind(as Kind) error {
	if as != "" && as != Run && as != Task && as != Service {
		return fmt.Errorf("--as %s: want run, task or service", as)
	}
	return a.check()
}

// registered returns how the agent is registered, for this user before all users. The starter is nil if it is not.
func (m *manager) registered() (starter, registration, error) {
	list := m.starters(m.all)
	if !m.all {
		list = append(list, m.starters(true)...)
	}
	for _, s := range list {
		if reg, err := s.current(); err != nil || reg.command != nil {
			return s, reg, err
		}
	}
	return nil, registration{}, nil
}

func (m *manager) Install(context.Context) (p Plan, err error) {
	as := m.as
	if as == "" {
		as = Run
		if s, _, err := m.registered(); err != nil {
			return nil, err
		} else if s != nil {
			as = s.kind()
		}
	}
	needed := brand.TrayOf(m.Executable)
	if as == Service {
		needed = brand.ServiceOf(m.Executable)
	}
	if _, err := os.Stat(needed); err != nil {
		return nil, fmt.Errorf("what Windows is to start, %s, is not there: install it beside %s", needed, m.Executable)
	}
	if m.all {
		if err := m.checkPrograms(needed); err != nil {
			return nil, err
		}
	}
	for _, s := range m.starters(m.all) {
		reg, err := s.current()
		if err != nil {
			return nil, err
		}
		switch {
		case s.kind() == as && reg.foreign != "":
			return nil, installation.Taken(s.path(), reg.foreign)
		case s.kind() == as && !reg.same:
			step, err := s.install()
			if err != nil {
				return nil, err
			}
			p = append(p, step)
		case s.kind() != as && reg.command != nil:
			p = append(p, s.remove())
		}
	}
	if m.all && !eventsource.Exists(m.Name) {
		p = append(p, Step{"register the event log source " + m.Name, func(context.Context) error { return eventsource.Register(m.Name) }})
	}
	tray, err := m.addingTray()
	return append(p, tray...), err
}

// checkPrograms refuses to start programs for all users that some of them could change.
func (m *manager) checkPrograms(needed string) error {
	programs := []string{m.Executable, needed}
	if len(m.Tray.Command) > 0 {
		programs = append(programs, m.Tray.Command[0])
	}
	for _, program := range programs {
		if err := trusted(program); err != nil {
			return fmt.Errorf("all users would start it: %w: install the programs where only administrators may write, as in Program Files, "+
				"or install the agent without --global", err)
		}
	}
	return nil
}

// trayKey is the Run key for the tray.
func (m *manager) trayKey() desktop.RunKey {
	if m.all {
		return desktop.RunOfAll
	}
	return desktop.RunOfUser
}

// addingTray registers the tray to start at log-in. If the user has switched that off in Windows, it stays off.
func (m *manager) addingTray() (Plan, error) {
	key, line := m.trayKey(), windows.ComposeCommandLine(m.Tray.Command)
	old, foreign, err := key.Read(m.Tray.ID, brand.TrayOf(m.Executable))
	switch {
	case len(m.Tray.Command) == 0 || old == line:
		return nil, nil
	case foreign != "":
		return nil, installation.Taken(key.Path(m.Tray.ID), foreign)
	case err != nil:
		return nil, err
	}
	return Plan{{"write " + key.Path(m.Tray.ID) + ":\n\n    " + line, func(context.Context) error { return key.Set(m.Tray.ID, line) }}}, nil
}

func (m *manager) Uninstall(ctx context.Context) (p Plan, err error) {
	if !m.all {
		if p, err = m.Stop(ctx); err != nil {
			return nil, err
		}
	}
	there := false
	for _, s := range m.starters(m.all) {
		reg, err := s.current()
		if err != nil {
			return nil, err
		}
		there = there || reg.command != nil
		switch {
		case reg.foreign != "":
			p = append(p, leaving(s.path(), reg.foreign))
		case reg.command != nil:
			p = append(p, s.remove())
		}
	}
	if s, reg, err := m.registered(); err == nil && !there && reg.command != nil {
		return nil, fmt.Errorf("it is installed for all users (%s): as an administrator, '%s service uninstall --global' removes it, "+
			"and '%s service stop' ends this one's until the next log-in", s.path(), m.Name, m.Name)
	}
	if m.all && there && eventsource.IsOurs(m.Name) && installation.Package(m.Name) == "" { // the package removes its own
		p = append(p, Step{"remove the event log source " + m.Name, func(context.Context) error { return eventsource.Remove(m.Name) }})
	}
	return append(p, m.removingTray()...), nil
}

func (m *manager) removingTray() Plan {
	key := m.trayKey()
	switch line, foreign, _ := key.Read(m.Tray.ID, brand.TrayOf(m.Executable)); {
	case foreign != "":
		return Plan{leaving(key.Path(m.Tray.ID), foreign)}
	case line != "":
		return Plan{{"remove " + key.Path(m.Tray.ID), func(context.Context) error { return key.Remove(m.Tray.ID) }}}
	}
	return nil
}

func (m *manager) Arguments(context.Context) ([]string, error) {
	_, reg, err := m.registered()
	if err != nil || reg.command == nil {
		return nil, err
	}
	return reg.command[1:], nil
}

func (m *manager) State(ctx context.Context) (st State, err error) {
	s, reg, err := m.registered()
	if err != nil {
		return st, err
	}
	if s == nil {
		s = m.starters(m.all)[0]
	}
	st = State{
		Kind: s.kind(), Path: s.path(), Installed: reg.command != nil, Enabled: reg.starts,
		Tray: desktop.Desktop{}.Autostarts(m.Tray),
	}
	p, err := m.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		hosts, err := m.hosts()
		st.Waiting = len(hosts) > 0
		return st, err
	}
	st.Running, st.PID, st.Since = err == nil, p.PID, p.Started
	return st, err
}

func (m *manager) Start(ctx context.Context) (Plan, error) {
	st, err := m.State(ctx)
	if err != nil || st.Running {
		return nil, err
	}
	return m.starting()
}

func (m *manager) Restart(ctx context.Context) (Plan, error) {
	p, err := m.Stop(ctx)
	if err != nil {
		return nil, err
	}
	start, err := m.starting()
	return append(p, start...), err
}

// starting starts the agent again. If the service runs and the user has quit its agent, it is started as at log-in.
func (m *manager) starting() (Plan, error) {
	s, reg, err := m.registered()
	if err != nil {
		return nil, err
	}
	if reg.command == nil {
		return nil, fmt.Errorf("it is not installed: '%s service install' does that", m.Name)
	}
	service, is := s.(winService)
	if is {
		if is, err = service.running(); err != nil {
			return nil, err
		}
		is = !is
		if is {
			return Plan{service.start(), {"wait until the agent answers", func(ctx context.Context) error { return m.awaitReady(ctx, nil) }}}, nil
		}
	}
	command := append([]string{brand.TrayOf(reg.command[0]), hostVerb}, reg.command[1:]...)
	return Plan{{"start in the background: " + strings.Join(command, " "), func(ctx context.Context) error {
		cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // it is to outlive this command
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
		if cmd.Dir, err = windows.GetSystemDirectory(); err != nil {
			return err
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		err := m.awaitReady(ctx, ended)
		if err != nil && cmd.ProcessState != nil {
			err = fmt.Errorf("the agent has ended (%s): '%s %s' in a terminal says why",
				cmd.ProcessState, reg.command[0], strings.Join(reg.command[1:], " "))
		}
		return err
	}}}, nil
}

// awaitReady returns when the agent answers over its local API, or what runs it has ended.
func (m *manager) awaitReady(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, "the agent does not answer", func() (bool, error) {
		select {
		case <-ended:
			return false, errors.New("it has ended")
		default:
		}
		_, err := m.Running(ctx)
		return err == nil, nil
	})
}

// pollInterval is how often a condition is checked.
const pollInterval = 20 * time.Millisecond

// poll returns when done reports true or an error, or ctx ends.
func poll(ctx context.Context, not string, done func() (bool, error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", not, ctx.Err())
		}
	}
}

// Logs shows the end of the agent's log file.
func (m *manager) Logs(ctx context.Context, w io.Writer, lines int, follow bool) error {
	path, err := m.LogFile(ctx)
	if err != nil {
		return fmt.Errorf("%w: '%s run' in a terminal shows its log", err, m.Name)
	}
	fmt.Fprintf(w, "%s:\n", path)
	return tail(ctx, w, path, lines, follow)
}
