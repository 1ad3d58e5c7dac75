//go:build !linux

package testlab

import "os/exec"

type group struct{}

func (*group) start(*exec.Cmd) error { return errNotHere }
func (*group) firstEnded() string    { return "" }
func (*group) kill() error           { return nil }
func (*group) terminate() error      { return errNotHere }
func (*group) suspend() error        { return errNotHere }
func (*group) resume() error         { return errNotHere }
