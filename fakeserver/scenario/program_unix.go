//go:build unix

package scenario

import (
	"os"
	"os/exec"
	"syscall"
)

// setOwnGroup gives a program a process group of its own, so that what it starts ends with it, and
// Ctrl-C in the operator's terminal reaches the scenario only, which ends all in order.
func setOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup and killGroup are for a program whose end was not seen yet. A process that has just
// ended is no error.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
