package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sidetone/internal/platform/desktop"
)

// autostart has the desktop start the agent at log-in. Nothing restarts it, and the agent keeps its log itself.
type autostart struct {
	Agent
	desktop desktop.Desktop
	path    string // of the agent's entry
}

func newAutostart(a Agent, getenv func(string) string) *autostart {
	s := &autostart{Agent: a, desktop: desktop.Desktop{Getenv: getenv}}
	s.path = s.desktop.AutostartFile(s.entry())
	return s
}

func (s *autostart) Install(context.Context) (Plan, error) {
	return append(s.adding(s.entry()), s.addingTray()...), nil
}

// adding writes an entry unless it is already there as it should be.
func (s *autostart) adding(e desktop.Entry) Plan {
	path := s.desktop.AutostartFile(e)
	if old, err := os.ReadFile(path); err == nil && string(old) == e.File() {
		return nil
	}
	return Plan{{writing(path, e.File()), func(context.Context) error { return s.desktop.SetAutostart(e, true) }}}
}

// addingTray writes the tray's entry, unless the user has switched off the one that is there.
func (s *autostart) addingTray() Plan {
	_, err := os.Lstat(s.desktop.AutostartFile(s.Tray))
	if len(s.Tray.Command) == 0 || err == nil && !s.desktop.Autostarts(s.Tray) {
		return nil
	}
	return s.adding(s.Tray)
}

func (s *autostart) Uninstall(ctx context.Context) (Plan, error) {
	p, err := s.Stop(ctx)
	if err != nil {
		return nil, err
	}
	return append(p, s.removing(s.entry(), s.Tray)...), nil
}

// removing removes the entries that are there. What they have started goes on.
func (s *autostart) removing(entries ...desktop.Entry) Plan {
	var paths []string
	for _, e := range entries {
		paths = append(paths, s.desktop.AutostartFile(e))
	}
	return removingFiles(paths...)
}

// removingFiles removes the files that are there.
func removingFiles(paths ...string) (p Plan) {
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			p = append(p, Step{"remove " + path, func(context.Context) error { return os.Remove(path) }})
		}
	}
	return p
}

func (s *autostart) Arguments(context.Context) ([]string, error) {
	return argumentsIn(s.path, desktop.CommandIn)
}

func (s *autostart) Start(ctx context.Context) (Plan, error) {
	st, err := s.State(ctx)
	if err != nil || st.Running {
		return nil, err
	}
	if !st.Installed {
		return nil, s.notInstalled()
	}
	step, err := s.start()
	return Plan{step}, err
}

func (s *autostart) notInstalled() error {
	return fmt.Errorf("%s is not there: '%s service install' writes it", s.path, s.Name)
}

// start runs the entry's command and waits until the agent is ready.
func (s *autostart) start() (Step, error) {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return Step{}, err
	}
	words, err := desktop.CommandIn(string(text))
	if err != nil {
		return Step{}, fmt.Errorf("%s: %w: '%s service install' writes it anew", s.path, err, s.Name)
	}
	if program := missing(words); program != "" {
		return Step{}, leadsNowhere(s.path, program, s.Name)
	}
	return Step{"start in the background: " + strings.Join(words, " "), func(ctx context.Context) error {
		ready, err := newReadiness()
		if err != nil {
			return err
		}
		defer ready.close()
		cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // it is to outlive this command
		cmd.Env = append(cmd.Environ(), notifySocket+"="+ready.LocalAddr().String())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Dir = "/"
		if err := cmd.Start(); err != nil {
			return err
		}
		return ready.wait(ctx, cmd)
	}}, nil
}

// readiness is the socket on which a started agent says that it is ready, as it would to systemd.
type readiness struct {
	folder string
	*net.UnixConn
}

func newReadiness() (*readiness, error) {
	folder, err := os.MkdirTemp("", "notify")
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "socket"), Net: "unixgram"})
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	return &readiness{folder, conn}, nil
}

func (r *readiness) close() {
	_ = r.Close()
	_ = os.RemoveAll(r.folder)
}

// wait returns when the agent is ready or has ended.
func (r *readiness) wait(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
		_ = r.Close()
	}()
	defer context.AfterFunc(ctx, func() { _ = r.Close() })()
	_ = r.SetReadDeadline(time.Now().Add(startTimeout))
	_, err := r.Read(make([]byte, 64))
	if err == nil {
		return nil
	}
	select {
	case <-ended:
		return fmt.Errorf("the agent has ended (%s): '%s' in a terminal says why", cmd.ProcessState, strings.Join(cmd.Args, " "))
	default:
		return fmt.Errorf("the agent has not said that it is ready: %w", err)
	}
}

func (s *autostart) Stop(ctx context.Context) (Plan, error) { return s.stopping(ctx) }

func (s *autostart) Restart(ctx context.Context) (Plan, error) {
	p, err := s.Stop(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(s.path); err != nil {
		return nil, s.notInstalled()
	}
	step, err := s.start()
	return append(p, step), err
}

func (s *autostart) State(ctx context.Context) (State, error) {
	_, err := os.Lstat(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return State{}, err
	}
	there := err == nil
	st := State{
		Kind: Autostart, Path: s.path, Installed: there, Enabled: there && s.desktop.Autostarts(s.entry()), Tray: s.desktop.Autostarts(s.Tray),
		Missing: missing(commandOf(s.path)),
	}
	p, err := s.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	st.Running, st.PID, st.Since = err == nil, p.PID, p.Started
	return st, err
}

// commandOf returns the command of an entry that we have written; nil: it is not there, or not ours.
func commandOf(path string) []string {
	text, _ := os.ReadFile(path)
	words, _ := desktop.CommandIn(string(text))
	return words
}

// missing returns the program of a command if it cannot be started; "": it can, or there is no command.
func missing(command []string) string {
	if len(command) > 0 {
		if _, err := exec.LookPath(command[0]); err != nil {
			return command[0]
		}
	}
	return ""
}

// Logs names the log file that the agent keeps without a journal, and shows its end.
func (s *autostart) Logs(ctx context.Context, w io.Writer, lines int, follow bool) error {
	path, err := s.LogFile(ctx)
	if err != nil {
		return fmt.Errorf("%w: '%s run' in a terminal shows its log", err, s.Name)
	}
	fmt.Fprintf(w, "%s:\n", path)
	args := []string{"--lines", strconv.Itoa(lines), path}
	if follow {
		args = append([]string{"--follow=name", "--retry"}, args...) // the agent renames a full log file
	}
	_, err = command(ctx, w, "tail", args...)
	return cmp.Or(ctx.Err(), err)
}
