package main

import (
	"os"
	"syscall"
)

const (
	proc = "/proc"
	// terminated is the signal that ends a program, and terminatedCode its exit code then.
	terminated     = syscall.SIGTERM
	terminatedCode = 0
	// afterStart is the pause between a program's first report and the first mute.
	afterStart = 0
)

func (c *child) terminate() { _ = c.cmd.Process.Signal(terminated) } // if it has ended already, its exit code tells

func (c *child) pid() (int, error) { return c.cmd.Process.Pid, nil }

// controlName is the name of the agent's own socket, in the folder of the sockets.
const controlName = "/agent.sock"

func socketFolder(dir string) (string, error) { return os.MkdirTemp(dir, "ipc") }
