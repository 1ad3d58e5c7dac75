package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/kardianos/service"
	"golang.org/x/sys/unix"

	"sidetone/internal/supervise"
)

// systemd is a unit of the user's service manager.
type systemd struct {
	Agent
	lib  service.Service
	path string // of the unit
}

// neverRun satisfies the library, which can also run Windows services: ours are run by systemd.
type neverRun struct{}

func (neverRun) Start(service.Service) error { return nil }
func (neverRun) Stop(service.Service) error  { return nil }

func newSystemd(a Agent, home string) (*systemd, error) {
	text := a.Unit()
	if strings.Contains(text, "{{") {
		return nil, fmt.Errorf("a unit cannot be made of what contains {{: rename %q", append([]string{a.Executable}, a.Arguments...))
	}
	if strings.ContainsAny(a.Executable, `\"'`) {
		return nil, fmt.Errorf("systemd starts no program with quotes or backslashes in its path: move %s", a.Executable)
	}
	config := &service.Config{
		Name: a.Name, Executable: a.Executable, Arguments: a.Arguments,
		Option: service.KeyValue{"UserService": true, "SystemdScript": text},
	}
	for _, system := range service.AvailableSystems() {
		if system.String() == "linux-systemd" {
			lib, err := system.New(neverRun{}, config)
			return &systemd{a, lib, filepath.Join(home, ".config/systemd/user", a.Name+".service")}, err
		}
	}
	return nil, errors.ErrUnsupported
}

func (s *systemd) unitName() string { return s.Name + ".service" }

// systemctl is a command, for people.
func (s *systemd) systemctl(action string) string {
	return "systemctl --user " + action + " " + s.unitName()
}

func (s *systemd) Install(ctx context.Context) (Plan, error) {
	if os.Geteuid() == 0 {
		return nil, errors.New("it would never start: the agent belongs to the session of a user, and root is none. Run this as that user, " +
			"or with --global for all users")
	}
	st, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	p := placing(nil, emptyPath(s.path), s.EmptyUnit())
	if old, err := os.ReadFile(s.path); err == nil {
		if st.Installed && st.Enabled && string(old) == s.Unit() {
			return p, nil
		}
		p = append(p, s.removal()) // the library refuses to overwrite it
	}
	text := fmt.Sprintf("%s\n%s\nsystemctl --user daemon-reload", writing(s.path, s.Unit()), s.systemctl("enable"))
	return append(p, Step{text, func(context.Context) error { return s.lib.Install() }}), nil
}

func (s *systemd) Uninstall(ctx context.Context) (Plan, error) {
	st, err := s.State(ctx)
	if err != nil {
		return nil, err
	}
	if st.Installed && st.Path != s.path {
		return nil, fmt.Errorf("it is installed for all users, by %s: 'systemctl --user mask --now %s' has it not start for this one, "+
			"and as root '%s service uninstall --global' for nobody", st.Path, s.unitName(), s.Name)
	}
	var p Plan
	if st.Running || st.Waiting {
		p = append(p, s.stop())
	}
	p = append(p, removingFiles(emptyPath(s.path))...)
	if _, err := os.Lstat(s.path); err == nil {
		p = append(p, s.removal())
	}
	if st.Result != "" {
		p = append(p, Step{s.systemctl("reset-failed"), func(ctx context.Context) error {
			_, _ = s.output(ctx, "reset-failed", s.unitName()) // it fails if there is nothing to reset
			return nil
		}})
	}
	return p, nil
}

func (s *systemd) Arguments(ctx context.Context) ([]string, error) {
	st, err := s.State(ctx)
	if err != nil || !st.Installed {
		return nil, err
	}
	return argumentsIn(st.Path, commandIn)
}

// removal removes the unit. A running agent goes on.
func (s *systemd) removal() Step {
	text := fmt.Sprintf("%s\nremove %s\nsystemctl --user daemon-reload", s.systemctl("disable"), s.path)
	return Step{text, func(context.Context) error { return s.lib.Uninstall() }}
}

func (s *systemd) stop() Step {
	return Step{s.systemctl("stop"), func(context.Context) error { return s.lib.Stop() }}
}

func (s *systemd) Start(ctx context.Context) (Plan, error) {
	st, err := s.needInstalled(ctx)
	if err != nil || st.Running {
		return nil, err
	}
	if p, err := s.Running(ctx); err == nil {
		return nil, fmt.Errorf("an agent that was started otherwise runs (process %d): end it first", p.PID)
	}
	return s.starting("start", st, s.lib.Start), nil
}

func (s *systemd) Restart(ctx context.Context) (Plan, error) {
	st, err := s.needInstalled(ctx)
	if err != nil {
		return nil, err
	}
	return s.starting("restart", st, s.lib.Restart), nil
}

// starting starts the agent and waits until it is ready. A unit that systemd has given up is reset first.
func (s *systemd) starting(action string, st State, start func() error) Plan {
	var p Plan
	if st.Result == "start-limit-hit" {
		p = append(p, Step{s.systemctl("reset-failed"), func(ctx context.Context) error {
			_, err := s.output(ctx, "reset-failed", s.unitName())
			return err
		}})
	}
	return append(p, Step{s.systemctl(action), func(ctx context.Context) error {
		err := start()
		if err == nil {
			return s.refused(ctx)
		}
		now, stateErr := s.State(ctx)
		switch {
		case stateErr == nil && now.EndedWith(supervise.ExitConfig):
			return fmt.Errorf("the agent finds its settings wrong: see '%s service logs', or '%s config check'", s.Name, s.Name)
		case stateErr == nil && now.EndedWith(supervise.ExitRunning):
			return fmt.Errorf("another agent runs: end it with '%s stop'; '%s service logs' says which", s.Name, s.Name)
		}
		return fmt.Errorf("%w: see '%s service logs'", err, s.Name)
	}})
}

// refused returns why systemd has started nothing, which it reports as success. systemd forgets a unit that does not run, including that
// its conditions were met.
func (s *systemd) refused(ctx context.Context) error {
	met, err := s.output(ctx, "show", s.unitName(), "--property=ConditionResult", "--value")
	if err != nil || strings.TrimSpace(met) != "no" {
		return err
	}
	return fmt.Errorf("it does not run: systemd starts it where the conditions of %s are met, and so for people alone, not for root and "+
		"users of the system (ConditionUser); or it has ended already: see '%s service logs'", s.unitName(), s.Name)
}

func (s *systemd) Stop(ctx context.Context) (Plan, error) {
	st, err := s.State(ctx)
	if err != nil || !st.Running && !st.Waiting {
		return nil, err
	}
	return Plan{s.stop()}, nil
}

func (s *systemd) needInstalled(ctx context.Context) (State, error) {
	st, err := s.State(ctx)
	if err == nil && !st.Installed {
		err = fmt.Errorf("%s is not installed: '%s service install' does that", s.unitName(), s.Name)
	}
	if err == nil && st.Missing != "" {
		err = leadsNowhere(st.Path, st.Missing, s.Name)
	}
	return st, err
}

func (s *systemd) State(ctx context.Context) (State, error) {
	out, err := s.output(ctx, "show", s.unitName(), "--property",
		"LoadState,UnitFileState,ActiveState,MainPID,NRestarts,Result,ExecMainStatus,FragmentPath,ActiveEnterTimestampMonotonic,ExecStart")
	if err != nil {
		return State{}, err
	}
	props := make(map[string]string)
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		props[name] = value
	}
	number := func(name string) int { n, _ := strconv.Atoi(props[name]); return n }
	st := State{
		Kind: Systemd, Path: props["FragmentPath"], Installed: props["LoadState"] == "loaded",
		Enabled: strings.HasPrefix(props["UnitFileState"], "enabled"),
		Running: props["ActiveState"] == "active", Waiting: props["ActiveState"] == "activating",
		Missing: missing(commandShown(props["ExecStart"])),
		PID:     number("MainPID"), Restarts: number("NRestarts"), Exit: number("ExecMainStatus"),
	}
	st.Path = cmp.Or(st.Path, s.path)
	if props["Result"] != "success" {
		st.Result = props["Result"]
	}
	if st.Running {
		st.Since = sinceBoot(number("ActiveEnterTimestampMonotonic"))
	}
	return st, nil
}

// commandShown returns the program that systemctl shows for ExecStart, as in "{ path=/usr/bin/agent ; argv[]=…"; nil: none.
func commandShown(value string) []string {
	_, rest, _ := strings.Cut(value, "{ path=")
	program, _, _ := strings.Cut(rest, " ; argv[]=")
	if program == "" {
		return nil
	}
	return []string{program}
}

// leadsNowhere says that what starts the agent names a program that is not there.
func leadsNowhere(path, program, name string) error {
	return fmt.Errorf("%s starts %s, which is not there: run '%s service install' again", path, program, name)
}

// sinceBoot converts a reading of the monotonic clock, in microseconds, to a time.
func sinceBoot(usec int) time.Time {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(usec)*time.Microsecond - time.Duration(now.Nano())).Round(time.Millisecond)
}

func (s *systemd) Logs(ctx context.Context, w io.Writer, lines int, follow bool) error {
	args := []string{"--user-unit", s.unitName(), "--output", "cat", "--quiet", "--lines", strconv.Itoa(lines)}
	if follow {
		args = append(args, "--follow")
	}
	_, err := command(ctx, w, "journalctl", args...)
	return cmp.Or(ctx.Err(), err)
}

// askTimeout bounds one query to the service manager.
const askTimeout = 10 * time.Second

// output queries the service manager.
func (s *systemd) output(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return command(ctx, nil, "systemctl", append([]string{"--user"}, args...)...)
}

// command runs a program that writes to w, or if that is nil to the result.
func command(ctx context.Context, w io.Writer, name string, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = append(cmd.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = w, &complaint
	if w == nil {
		cmd.Stdout = &out
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(append([]string{name}, args...), " "), err, strings.TrimSpace(complaint.String()))
	}
	return out.String(), nil
}

// argumentsIn returns the program's arguments in a definition, or nil if there is no such file or it is not ours.
func argumentsIn(path string, command func(definition string) ([]string, error)) ([]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how the agent is registered: %w", err)
	}
	words, err := command(string(text))
	if err != nil {
		return nil, nil // somebody else has written it
	}
	return words[1:], nil
}
