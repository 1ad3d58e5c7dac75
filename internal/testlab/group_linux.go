package testlab

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// group is a process group. Its processes die with this process.
type group struct {
	mu    sync.Mutex
	id    int // of the process group, 0 before the first start
	procs []process
}

type process struct {
	name  string
	ended <-chan struct{} // closed when it has been waited for
}

func (g *group) start(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	cmd.WaitDelay = time.Second // for output that another process still holds open
	ended, err := StartBound(cmd)
	if err != nil {
		return fmt.Errorf("start %s: %w", cmd.Args[0], err)
	}
	if g.id == 0 {
		g.id = cmd.Process.Pid
	}
	g.procs = append(g.procs, process{cmd.Args[0], ended})
	return nil
}

// dieWithParent makes a program die with the thread that starts it.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// firstEnded returns the name of a process that has ended, "" if all run.
func (g *group) firstEnded() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.procs {
		if !p.runs() {
			return p.name
		}
	}
	return ""
}

func (p process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (g *group) kill() error { return g.end(syscall.SIGKILL) }

// Term asks the server to end, as a logout would, and waits until all its processes are gone.
func (s *SoundServer) Term() error { return s.group.end(syscall.SIGTERM, syscall.SIGCONT) }

// Suspend stops the server's processes: it keeps its connections and answers nothing.
func (s *SoundServer) Suspend() error { return s.group.signal(syscall.SIGSTOP) }

// Continue undoes Suspend.
func (s *SoundServer) Continue() error { return s.group.signal(syscall.SIGCONT) }

// end sends the signals and waits until every process has ended.
func (g *group) end(signals ...syscall.Signal) error {
	for _, sig := range signals {
		if err := g.signal(sig); err != nil {
			return err
		}
	}
	limit := time.After(stopLimit)
	g.mu.Lock()
	procs := g.procs
	g.mu.Unlock()
	for _, p := range procs {
		select {
		case <-p.ended:
		case <-limit:
			return fmt.Errorf("testlab: %s did not end within %s of signal %q", p.name, stopLimit, signals[0])
		}
	}
	return nil
}

// signal sends sig to the whole group, unless all its processes have ended: then its id may have been reused.
func (g *group) signal(sig syscall.Signal) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.ContainsFunc(g.procs, process.runs) {
		return nil
	}
	if err := syscall.Kill(-g.id, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("testlab: send signal %q to process group %d: %w", sig, g.id, err)
	}
	return nil
}
