package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// autostart has the desktop start the agent at log-in. Nothing restarts it, and it keeps its log itself.
type autostart struct {
	Agent
	path string // of the entry
}

func newAutostart(a Agent, config string) *autostart {
	return &autostart{a, filepath.Join(config, "autostart", a.Name+".desktop")}
}

func (s *autostart) Install(context.Context) (Plan, error) {
	text := s.Entry()
	if old, err := os.ReadFile(s.path); err == nil && string(old) == text {
		return nil, nil
	}
	return Plan{{writing(s.path, text), func(context.Context) error {
		if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(s.path, []byte(text), 0o644)
	}}}, nil
}

func (s *autostart) Uninstall(ctx context.Context) (Plan, error) {
	p, err := s.Stop(ctx)
	if err != nil {
		return nil, err
	}
	return append(p, s.removal()...), nil
}

// removal takes the entry away, where there is one. An agent that runs goes on.
func (s *autostart) removal() Plan {
	if _, err := os.Lstat(s.path); err != nil {
		return nil
	}
	return Plan{{"remove " + s.path, func(context.Context) error { return os.Remove(s.path) }}}
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

// startTimeout is how long an agent may take until it is ready, or ends.
const startTimeout = 30 * time.Second

// start starts what the entry says, and waits until that is ready.
func (s *autostart) start() (Step, error) {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return Step{}, err
	}
	words, err := entryCommand(string(text))
	if err != nil {
		return Step{}, fmt.Errorf("%s: %w: '%s service install' writes it anew", s.path, err, s.Name)
	}
	return Step{"start in the background: " + strings.Join(words, " "), func(ctx context.Context) error {
		ready, err := newReadiness()
		if err != nil {
			return err
		}
		defer ready.close()
		cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // it is to outlive this command
		cmd.Env = append(cmd.Environ(), notifySocket+"="+ready.address())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Dir = "/"
		if err := cmd.Start(); err != nil {
			return err
		}
		return ready.wait(ctx, cmd)
	}}, nil
}

// readiness is the socket at which a started agent says that it is ready, as it would to systemd.
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

func (r *readiness) address() string { return r.LocalAddr().String() }

func (r *readiness) close() {
	_ = r.Close()
	_ = os.RemoveAll(r.folder)
}

// wait returns when the agent is ready, or has ended.
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

func (s *autostart) Stop(ctx context.Context) (Plan, error) {
	p, err := s.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Plan{{fmt.Sprintf("kill -TERM %d, and wait for its end", p.PID), func(context.Context) error { return end(p.PID) }}}, nil
}

// endTimeout is how long an agent may take to empty the clients' lists and end: ten times what it needs.
const endTimeout = 5 * time.Second

// end has a process end, and waits for it.
func end(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
		err = unix.PidfdSendSignal(fd, unix.SIGTERM, nil, 0)
	}
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	deadline := time.Now().Add(endTimeout)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(max(0, time.Until(deadline)).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("process %d has not ended after %s: end it with kill -KILL %d", pid, endTimeout, pid)
		default:
			return nil
		}
	}
}

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
	st := State{Kind: Autostart, Path: s.path, Installed: there, Enabled: there}
	p, err := s.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	st.Running, st.PID, st.Since = err == nil, p.PID, p.Started
	return st, err
}

func (s *autostart) Logs(context.Context, io.Writer, int, bool) error {
	return fmt.Errorf("here is no journal of a service manager: the agent keeps its log in ~/.local/state/sidetone/VENDOR; "+
		"'%s run' in a terminal shows it", s.Name)
}
