//go:build unix

package scenario

import (
	"os"
	"os/exec"
	"syscall"
)

// setOwnGroup gives a program its own process group, so that what it starts ends with it.
// Ctrl-C in the terminal then reaches only the scenario, which ends everything in order.
func setOwnGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup and killGroup ignore that a process may just have ended.
func terminateGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
