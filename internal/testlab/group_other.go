//go:build !linux

package testlab

import (
	"os/exec"
	"syscall"
)

type group struct{}

func (*group) start(*exec.Cmd) error { return errNotHere }
func (*group) firstEnded() string    { return "" }
func (*group) kill() error           { return nil }

func dieWithParent(*syscall.SysProcAttr) {} // no such thing
