package main

import (
	"os"
	"syscall"
)

const (
	// proc is where the kernel tells of processes.
	proc = "/proc"
	// terminated is how a program is told to end, and terminatedCode its exit code then.
	terminated     = syscall.SIGTERM
	terminatedCode = 0
	// afterStart is how long a program that has reported the headset is left alone before the first mute.
	afterStart = 0
)

func (c *child) terminate() { _ = c.cmd.Process.Signal(terminated) } // one that has ended is told so by its exit code

func (c *child) pid() (int, error) { return c.cmd.Process.Pid, nil }

// controlName is that of the agent's own socket, in the folder of the sockets.
const controlName = "/agent.sock"

// socketFolder is a new folder for sockets.
func socketFolder(dir string) (string, error) { return os.MkdirTemp(dir, "ipc") }
